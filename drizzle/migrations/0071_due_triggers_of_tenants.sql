-- The scheduler finds the tenants that have a schedule due, and the oldest due schedules of each, however many are due.
create index job_triggers_due_of_tenant on app.job_triggers (tenant_id, next_run_at) where next_run_at is not null;
