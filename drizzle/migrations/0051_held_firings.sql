-- A change of a folder that a trigger's own job may have made is held in its firing, and that firing starts a job later.
create index trigger_firings_held on app.trigger_firings (tenant_id, trigger_id, id) where reason = 'loop_suspected';
grant update (outcome, reason, detail, job_id, note) on app.trigger_firings to leasehold_web;
