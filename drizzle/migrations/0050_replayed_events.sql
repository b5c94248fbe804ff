-- A stored event can be compared with the triggers again. Who asked for that, and what came of it, is in the same trail.
alter table app.job_audit add column event_id uuid,
  drop constraint job_audit_object,
  add constraint job_audit_object check (num_nonnulls(job_id, trigger_id, event_id) >= 1);
create index job_audit_of_event on app.job_audit (tenant_id, event_id, id) where event_id is not null;
