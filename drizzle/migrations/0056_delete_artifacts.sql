-- Callers of the API delete artifacts of their tenant. The trigger on app.artifacts gives the bytes back as the same role.
grant delete on app.artifacts to leasehold_web;
grant update (bytes) on app.artifact_usage to leasehold_web;
