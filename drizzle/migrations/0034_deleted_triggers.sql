-- A trigger that was deleted stays as long as its firings do.
create index job_triggers_deleted on app.job_triggers (deleted_at) where deleted_at is not null;
grant delete on app.job_triggers to leasehold_scheduler;
