-- Indexes by tenant for work that is shared by all tenants, so that tenants take turns however much one of them has waiting.

-- Promotion and expiry of jobs. Jobs that are ready, and jobs without expires_at, have no entry.
create index live_jobs_due_of_tenant on app.live_jobs (tenant_id, scheduled_for) where state = 'queued' and not ready;
create index live_jobs_expiry_of_tenant on app.live_jobs (tenant_id, expires_at)
  where expires_at is not null and state <> 'running';

-- Releases of dependents.
create index release_backlog_of_tenant on app.release_backlog (tenant_id, id);
