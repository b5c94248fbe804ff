-- Sweeps lock the rows that they search for, so that those which another transaction has locked take no place in a batch.
-- PostgreSQL asks for the right to update a column of what is locked. No statement of the scheduler changes these columns.
grant update (n) on app.job_stat_deltas to leasehold_scheduler;
grant update (expires_at) on app.idempotency_keys to leasehold_scheduler;
grant update (created_at) on app.webhook_deliveries to leasehold_scheduler;
grant update (created_at) on app.trigger_firings to leasehold_scheduler;
grant update (received_at) on app.events to leasehold_scheduler;
grant update (stopped_at) on app.job_workers to leasehold_scheduler;

-- Of sessions the scheduler sees and locks those that are to be deleted, and can change none.
drop policy scheduler_cleans on app.sessions;
drop policy scheduler_reads on app.sessions;
create policy scheduler_cleans on app.sessions for all to leasehold_scheduler
  using (absolute_expires_at < app.now() - interval '30 days') with check (false);
grant update (revoked_at) on app.sessions to leasehold_scheduler;
