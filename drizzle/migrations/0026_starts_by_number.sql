-- Jobs that are over in milliseconds are claimed ahead of a place, and begin hundreds of times in a second. Each claim
-- numbers them in their worker, and one small row says which numbers have begun: all up to `upto` but those that wait.
-- That costs the same for one job as for fifty. An attempt has begun when its live row or this row says so.
alter table app.live_jobs add column claim_no bigint;

create table app.attempt_starts (
  worker_id text primary key references app.job_workers (worker_id) on delete cascade,
  upto bigint not null default 0,
  waiting int8multirange not null default '{}',
  -- How often leases were taken away from this worker. It notes nothing unless it knows of the last time, so that it
  -- begins no job under a lease that it has lost.
  taken integer not null default 0,
  noted_at timestamptz not null default app.now()
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);
grant select, insert, update on app.attempt_starts to leasehold_worker;
grant select, update (taken) on app.attempt_starts to leasehold_scheduler;
grant update (claim_no) on app.live_jobs to leasehold_worker;
-- A job that goes back to the queue keeps when its run began.
grant update (started_at) on app.live_jobs to leasehold_scheduler;
