-- The job: its record (cold, partitioned by day), its live row (hot, small), its attempts and its output; the keys that keep it
-- unique, the figures about it, and the audit trail.

-- Lanes ---------------------------------------------------------------------------------------------------------------

-- What claiming chooses between: (queue, tenant, band, definition). The number of a lane is opaque, so that wake-ups, which
-- every listener can read, reveal nothing about a tenant. band is app.band_of of the priority.
create table app.lanes (
  lane_no integer generated always as identity primary key,
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  queue_id integer not null references app.job_queues (id),
  definition_id uuid not null references app.job_definitions (id),
  band smallint not null check (band between 0 and 4),
  created_at timestamptz not null default app.now(),
  unique (tenant_id, queue_id, definition_id, band)
);
-- A remote claim looks for the ready lanes of a few definitions over all tenants.
create index lanes_by_definition on app.lanes (definition_id, queue_id);
call app.protect_tenant_table('app.lanes');
call app.open_to('app.lanes', 'leasehold_worker');
call app.open_to('app.lanes', 'leasehold_scheduler');
grant select, insert on app.lanes to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Jobs ----------------------------------------------------------------------------------------------------------------

-- What was asked for. How a run ended is in job_attempts (outcome), so the only dead rows here are those of the few jobs that
-- were changed before they ended.
-- No foreign keys to or from the partitioned tables: they cost 20–75 % of the throughput and keep a day from being dropped.
-- The scheduler makes a partition for each day ahead of time (app.make_days). A partition has no grants, so it can only be
-- read through its parent and the parent's policies.
create table app.jobs (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null,
  definition_id uuid not null,
  definition_version integer not null,
  lane_no integer not null,
  source app.job_source not null,
  source_ref text,
  priority app.job_priority not null default 100,
  payload jsonb not null default '{}'::jsonb,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}'::jsonb,
  correlation_id text,
  parent_job_id uuid,
  retried_from_id uuid,
  dedupe_key text,
  scheduled_for timestamptz not null,
  expires_at timestamptz,
  max_attempts app.attempts_allowed not null,
  timeout_seconds app.time_limit_seconds,
  retry_delay_seconds app.retry_delay_seconds,
  retry_multiplier app.retry_multiplier,
  created_by uuid,
  queued_at timestamptz not null default app.now(),
  -- The number of jobs between this job and a request by hand. It is bounded, so a chain of events and jobs that cause each
  -- other ends.
  chain_depth app.chain_depth not null default 0
) partition by range (id);
-- The id rises in each index, because ids rise: with a falling id, each entry would go before the tenant's first one, and
-- pages that split in the middle stay half empty. Lists read the index backwards. Entries are never equal, so deduplication
-- would find nothing.
create index jobs_by_tenant on app.jobs (tenant_id, id) with (deduplicate_items = off);
create index jobs_by_definition on app.jobs (tenant_id, definition_id, id) with (deduplicate_items = off);
create index jobs_by_correlation on app.jobs (tenant_id, correlation_id, id) with (deduplicate_items = off)
  where correlation_id is not null;
create index jobs_by_parent on app.jobs (tenant_id, parent_job_id, id) with (deduplicate_items = off)
  where parent_job_id is not null;
-- Edited retries of a job, which are few.
create index jobs_by_retried_from on app.jobs (tenant_id, retried_from_id, id) with (deduplicate_items = off)
  where retried_from_id is not null;
-- Catches rows that no day covers, so that none is refused or lost. It must stay empty, and the scheduler reports it if not.
create table app.jobs_default partition of app.jobs default;
call app.protect_tenant_table('app.jobs');
call app.open_to('app.jobs', 'leasehold_worker');
call app.open_to('app.jobs', 'leasehold_scheduler');
-- A worker enqueues the jobs that an attempt asked for in the transaction that records the attempt's end, and the scheduler
-- enqueues the job of a firing in the transaction of the firing.
grant select, insert on app.jobs to leasehold_web, leasehold_worker, leasehold_scheduler;
-- Three things change a record: a conflict over a dedupe key (payload, version and time of the holder), the release of a job
-- that waited for its parents' results (payload), and a changed priority or time, which later runs keep (lane_no too).
grant update (payload, definition_version, scheduled_for, priority, lane_no) on app.jobs to leasehold_web;
grant update (payload, definition_version, scheduled_for) on app.jobs to leasehold_worker;
grant update (payload) on app.jobs to leasehold_scheduler;

-- One narrow row for each unfinished job; the statement that finishes the job deletes it.
-- lease_no is the fence: it rises with each claim and never repeats, not even in a later run.
create table app.live_jobs (
  job_id uuid primary key,
  tenant_id uuid not null,
  lane_no integer not null,
  state text not null,
  ready boolean not null,
  sort_key double precision not null,
  priority app.job_priority not null,
  scheduled_for timestamptz not null,
  expires_at timestamptz,
  run_no app.run_no not null default 1,
  lease_no app.lease_no not null default 0,
  attempts_spent app.tally not null default 0,
  reclaims app.tally not null default 0,
  started_at timestamptz,
  claimed_by_worker text,
  claimed_at timestamptz,
  attempt_started_at timestamptz,
  lease_expires_at timestamptz,
  cancel_requested_at timestamptz,
  progress app.percent,
  progress_message app.progress_message,
  has_dedupe_key boolean not null default false,
  has_dependents boolean not null default false,
  -- Timeouts of this run, each of which makes the next time limit longer, and how often the run was snoozed.
  timeouts app.tally not null default 0,
  snoozes integer not null default 0,
  -- The number of this claim in its worker. app.attempt_marks says which numbers have begun.
  claim_no bigint,
  -- The process of the running attempt.
  pid integer,
  -- One CHECK for all rules between columns, and for state: an enqueue pays for each CHECK (see the domains in 0001).
  constraint live_jobs_running_is_leased check (state in ('queued', 'blocked', 'paused', 'running') and
    case when state = 'running' then not ready and num_nulls(lease_expires_at, claimed_by_worker, claimed_at) = 0
    else (state = 'queued' or not ready) and
      num_nonnulls(lease_expires_at, claimed_by_worker, claimed_at, attempt_started_at, cancel_requested_at) = 0 end)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);
-- Equals the claim's ORDER BY, with no tiebreak, so the claim needs no Sort whatever the backlog.
create index live_jobs_claim on app.live_jobs (lane_no, sort_key) where ready;
create index live_jobs_due on app.live_jobs (scheduled_for) where state = 'queued' and not ready;
create index live_jobs_running on app.live_jobs (tenant_id, job_id) where state = 'running';
create index live_jobs_waiting on app.live_jobs (tenant_id, job_id) where state <> 'running';
create index live_jobs_blocked on app.live_jobs (job_id) where state = 'blocked';
create index live_jobs_expiry on app.live_jobs (expires_at) where expires_at is not null and state <> 'running';
-- For counts of what has run since the running mark. The jobs that run are those with a claimed_at; a condition on the state
-- would let plans take another index.
create index live_jobs_claimed on app.live_jobs (claimed_at) where claimed_at is not null;
-- A worker asks once a second which of its jobs are to be canceled. live_jobs_running has an entry of every job that ran since
-- the oldest snapshot; this index has only jobs with a cancel request. No heartbeat touches its columns.
create index live_jobs_cancel_requests on app.live_jobs (claimed_by_worker) where cancel_requested_at is not null;
call app.protect_tenant_table('app.live_jobs');
call app.open_to('app.live_jobs', 'leasehold_worker');
call app.open_to('app.live_jobs', 'leasehold_scheduler');
-- Web cancels a job that is not running by deleting its row. It never writes tenant_id, lease_no or the lease itself. A change
-- of priority may move a job to another lane.
grant select, insert, delete on app.live_jobs to leasehold_web, leasehold_worker, leasehold_scheduler;
grant update (lane_no, state, ready, sort_key, priority, scheduled_for, expires_at, cancel_requested_at, has_dependents)
  on app.live_jobs to leasehold_web;
grant update (state, ready, sort_key, scheduled_for, lease_no, lease_expires_at, claimed_by_worker, claimed_at, claim_no, pid,
  attempts_spent, reclaims, timeouts, snoozes, started_at, attempt_started_at, cancel_requested_at, progress, progress_message,
  has_dependents) on app.live_jobs to leasehold_worker;
grant update (state, ready, sort_key, scheduled_for, lease_expires_at, claimed_by_worker, claimed_at, pid,
  attempts_spent, reclaims, timeouts, snoozes, started_at, attempt_started_at, cancel_requested_at, progress, progress_message,
  has_dependents) on app.live_jobs to leasehold_scheduler;

-- Attempts and output -------------------------------------------------------------------------------------------------

-- One row for each ended lease, however it ended; attempt_no is the lease number. The row that ended a run also carries the
-- job's outcome (measured: an UPDATE of app.jobs instead reaches 0.62–0.73 of the rate, this 0.91–1.1).
-- A run that ends without a lease (canceled or expired while it waited, failed by on_parent_failure, or because its payload
-- could not be rendered) leaves a row without a worker. A retry of the job marks the outcome of the run before as superseded.
create table app.job_attempts (
  job_id uuid not null,
  attempt_no bigint not null check (attempt_no >= 1),
  tenant_id uuid not null,
  run_no integer not null,
  status text not null check (status in
    ('succeeded', 'failed', 'timeout', 'canceled', 'worker_lost', 'released', 'snoozed', 'expired')),
  worker_id text,
  claimed_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz not null default app.now(),
  pid integer,
  exit_code integer,
  signal text,
  error_type text,
  error_text text,
  stdout_tail text,
  stderr_tail text,
  stdout_bytes bigint,
  stderr_bytes bigint,
  dropped_bytes bigint,
  cpu_ms bigint check (cpu_ms >= 0),
  peak_rss_bytes bigint check (peak_rss_bytes >= 0),
  retry_at timestamptz,
  outcome text check (outcome in ('succeeded', 'failed', 'dead_letter', 'canceled', 'expired')),
  superseded boolean not null default false,
  run_started_at timestamptz,
  attempt_count integer,
  progress smallint,
  result jsonb,
  progress_message text,
  primary key (job_id, attempt_no),
  constraint job_attempts_leased_or_outcome check (
    (worker_id is not null and claimed_at is not null)
    or (worker_id is null and claimed_at is null and outcome in ('canceled', 'expired', 'failed'))),
  constraint job_attempts_superseded_is_outcome check (not superseded or outcome is not null)
) partition by range (job_id);
create index job_attempts_unhappy on app.job_attempts (tenant_id, outcome, job_id desc)
  where outcome in ('failed', 'dead_letter', 'canceled', 'expired') and not superseded;
create table app.job_attempts_default partition of app.job_attempts default;
call app.protect_tenant_table('app.job_attempts');
call app.open_to('app.job_attempts', 'leasehold_worker');
call app.open_to('app.job_attempts', 'leasehold_scheduler');
-- A person ends a run only while no worker holds it, so a row that web inserts has no worker.
create policy web_ends_without_worker on app.job_attempts as restrictive for insert to leasehold_web
  with check (worker_id is null);
grant select, insert on app.job_attempts to leasehold_web, leasehold_worker, leasehold_scheduler;
grant update (superseded) on app.job_attempts to leasehold_web;

-- The output and log lines of attempts, in the order of seq.
create table app.job_logs (
  job_id uuid not null,
  attempt_no bigint not null,
  seq integer not null check (seq >= 0),
  tenant_id uuid not null,
  stream text not null check (stream in ('stdout', 'stderr', 'log')),
  level text check (level in ('debug', 'info', 'warn', 'error')),
  at timestamptz not null default app.now(),
  body text not null,
  context jsonb,
  primary key (job_id, attempt_no, seq)
) partition by range (job_id);
create table app.job_logs_default partition of app.job_logs default;
call app.protect_tenant_table('app.job_logs');
call app.open_to('app.job_logs', 'leasehold_worker');
call app.open_to('app.job_logs', 'leasehold_scheduler');
grant select on app.job_logs to leasehold_web, leasehold_scheduler;
grant select, insert on app.job_logs to leasehold_worker;

-- Dedupe keys ---------------------------------------------------------------------------------------------------------

-- One row for each taken key. live: an unfinished job holds the key; held_until: the key stays taken until then.
create table app.dedupe_keys (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  key text not null check (char_length(key) between 1 and 512),
  job_id uuid not null,
  live boolean not null default true,
  held_until timestamptz,
  primary key (tenant_id, key)
);
create index dedupe_keys_of_job on app.dedupe_keys (tenant_id, job_id);
-- Finds keys to prune: the job ended inside the key's window, and the window is over.
create index dedupe_keys_over on app.dedupe_keys (held_until) where not live;
call app.protect_tenant_table('app.dedupe_keys');
call app.open_to('app.dedupe_keys', 'leasehold_worker');
call app.open_to('app.dedupe_keys', 'leasehold_scheduler');
grant select, insert, delete on app.dedupe_keys to leasehold_web, leasehold_worker, leasehold_scheduler;
grant update (job_id, live, held_until) on app.dedupe_keys to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Figures -------------------------------------------------------------------------------------------------------------

-- Changes of the figures for cards and charts. Every enqueue and settle appends a delta; the scheduler folds the deltas into
-- job_stats and live_totals. A reader adds both, so a figure is exact at once, and nothing ever counts history.
create table app.job_stat_deltas (
  tenant_id uuid not null,
  definition_id uuid not null,
  at timestamptz not null default app.now(),
  kind app.figure_kind not null,
  n integer not null,
  wait_ms bigint not null default 0,
  run_ms bigint not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
call app.protect_tenant_table('app.job_stat_deltas');
call app.open_to('app.job_stat_deltas', 'leasehold_worker');
call app.open_to('app.job_stat_deltas', 'leasehold_scheduler');
grant select, insert on app.job_stat_deltas to leasehold_web;
grant insert on app.job_stat_deltas to leasehold_worker;
grant select, insert, delete on app.job_stat_deltas to leasehold_scheduler;
-- The scheduler locks the deltas that it folds and changes none; a row lock takes the right to update a column.
grant update (n) on app.job_stat_deltas to leasehold_scheduler;

-- Folded figures of each minute.
create table app.job_stats (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  bucket timestamptz not null,
  definition_id uuid not null,
  kind text not null,
  n bigint not null,
  wait_ms bigint not null,
  run_ms bigint not null,
  primary key (tenant_id, bucket, definition_id, kind)
);
call app.protect_tenant_table('app.job_stats');
call app.open_to('app.job_stats', 'leasehold_scheduler');
grant select on app.job_stats to leasehold_web;
grant select, insert on app.job_stats to leasehold_scheduler;
grant update (n, wait_ms, run_ms) on app.job_stats to leasehold_scheduler;

-- The folded number of unfinished jobs of each definition.
create table app.live_totals (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  definition_id uuid not null,
  n bigint not null,
  primary key (tenant_id, definition_id)
);
call app.protect_tenant_table('app.live_totals');
call app.open_to('app.live_totals', 'leasehold_scheduler');
grant select on app.live_totals to leasehold_web;
grant select, insert on app.live_totals to leasehold_scheduler;
grant update (n) on app.live_totals to leasehold_scheduler;

-- Audit ---------------------------------------------------------------------------------------------------------------

-- Actions of people, keys and the scheduler on jobs, of people and keys on triggers, and replays of events. What workers did is
-- read from job_attempts, except what their enqueues did to the holder of a dedupe key. Append-only.
create table app.job_audit (
  id uuid primary key default app.new_id(),
  at timestamptz not null default clock_timestamp(),
  tenant_id uuid not null,
  job_id uuid,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'system')),
  actor_id uuid,
  action text not null,
  from_status text,
  to_status text,
  reason text,
  request_id text,
  trigger_id uuid,
  event_id uuid,
  constraint job_audit_object check (num_nonnulls(job_id, trigger_id, event_id) >= 1)
);
create index job_audit_of_job on app.job_audit (tenant_id, job_id, id);
create index job_audit_of_trigger on app.job_audit (tenant_id, trigger_id, id) where trigger_id is not null;
create index job_audit_of_event on app.job_audit (tenant_id, event_id, id) where event_id is not null;
call app.protect_tenant_table('app.job_audit');
create policy worker_writes on app.job_audit for insert to leasehold_worker with check (true);
create policy scheduler_writes on app.job_audit for insert to leasehold_scheduler with check (true);
grant select, insert on app.job_audit to leasehold_web;
grant insert on app.job_audit to leasehold_worker, leasehold_scheduler;
create trigger append_only before update or delete or truncate on app.job_audit
  for each statement execute function app.refuse_change();
