-- The job: its record (cold, partitioned by day), its live row (hot, small), its attempts and its output.

-- A lane is what claiming chooses between: (queue, tenant, band, definition). Its number is opaque, so that
-- wake-ups, which every listener can read, tell nothing about a tenant.
create table app.lanes (
  lane_no integer generated always as identity primary key,
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  queue_id integer not null references app.job_queues (id),
  definition_id uuid not null references app.job_definitions (id),
  band smallint not null check (band between 0 and 4),
  created_at timestamptz not null default app.now(),
  unique (tenant_id, queue_id, definition_id, band)
);

-- What was asked for. How a run ended stands in job_attempts (outcome), so this table has no dead rows but those of the
-- few jobs whose priority or time a person changed.
-- No foreign keys to or from the partitioned tables: they cost 20-75 % of the throughput and keep a day from being dropped.
create table app.jobs (
  id uuid not null default app.new_id() primary key,
  tenant_id uuid not null,
  definition_id uuid not null,
  definition_version integer not null,
  lane_no integer not null,
  source text not null check (source in ('manual', 'event', 'schedule', 'system')),
  source_ref text,
  priority integer not null default 100 check (priority between 1 and 1000),
  payload jsonb not null default '{}'::jsonb,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}'::jsonb,
  correlation_id text,
  parent_job_id uuid,
  retried_from_id uuid,
  dedupe_key text,
  scheduled_for timestamptz not null,
  expires_at timestamptz,
  max_attempts integer not null check (max_attempts between 1 and 100),
  timeout_seconds integer check (timeout_seconds between 1 and 604800),
  retry_delay_seconds double precision check (retry_delay_seconds between 0 and 86400),
  retry_multiplier double precision check (retry_multiplier between 1 and 10),
  created_by uuid,
  queued_at timestamptz not null default app.now()
) partition by range (id);
create index jobs_by_tenant on app.jobs (tenant_id, id desc);
create index jobs_by_definition on app.jobs (tenant_id, definition_id, id desc);
create index jobs_by_correlation on app.jobs (tenant_id, correlation_id, id desc) where correlation_id is not null;
create index jobs_by_parent on app.jobs (tenant_id, parent_job_id, id desc) where parent_job_id is not null;

-- One narrow row for each unfinished job; it is deleted by the statement that finishes the job.
-- lease_no is the fence: it rises with each claim and never repeats, also over retries.
create table app.live_jobs (
  job_id uuid primary key,
  tenant_id uuid not null,
  lane_no integer not null,
  state text not null check (state in ('queued', 'blocked', 'paused', 'running')),
  ready boolean not null,
  sort_key double precision not null,
  priority integer not null check (priority between 1 and 1000),
  scheduled_for timestamptz not null,
  expires_at timestamptz,
  run_no integer not null default 1 check (run_no >= 1),
  lease_no bigint not null default 0 check (lease_no >= 0),
  attempts_spent integer not null default 0 check (attempts_spent >= 0),
  reclaims integer not null default 0 check (reclaims >= 0),
  started_at timestamptz,
  claimed_by_worker text,
  claimed_at timestamptz,
  attempt_started_at timestamptz,
  lease_expires_at timestamptz,
  cancel_requested_at timestamptz,
  progress smallint check (progress between 0 and 100),
  progress_message text check (char_length(progress_message) <= 500),
  has_dedupe_key boolean not null default false,
  has_dependents boolean not null default false,
  constraint live_jobs_ready_is_queued check (not ready or state = 'queued'),
  constraint live_jobs_running_is_leased check (
    (state = 'running') = (lease_expires_at is not null)
    and (state = 'running') = (claimed_by_worker is not null)
    and (state = 'running') = (claimed_at is not null)),
  constraint live_jobs_started_is_running check (attempt_started_at is null or state = 'running'),
  constraint live_jobs_cancel_is_running check (cancel_requested_at is null or state = 'running')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2);
-- Equals the claim's ORDER BY, with no tiebreak, so the claim needs no Sort whatever the backlog.
create index live_jobs_claim on app.live_jobs (lane_no, sort_key) where ready;
create index live_jobs_due on app.live_jobs (scheduled_for) where state = 'queued' and not ready;
create index live_jobs_running on app.live_jobs (tenant_id, job_id) where state = 'running';
create index live_jobs_waiting on app.live_jobs (tenant_id, job_id) where state <> 'running';
create index live_jobs_expiry on app.live_jobs (expires_at) where expires_at is not null and state <> 'running';

-- One row for each ended lease, whatever its end; attempt_no is the lease number. The row that ended a run also
-- carries the job's outcome (measured: an UPDATE of app.jobs instead keeps 0.62-0.73 of the rate, this 0.91-1.1).
-- A run that ends without a lease (canceled or expired while it waited, or failed by what it waited for) leaves a row
-- without a worker.
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
  primary key (job_id, attempt_no),
  constraint job_attempts_leased_or_outcome check (
    (worker_id is not null and claimed_at is not null)
    or (worker_id is null and claimed_at is null and outcome in ('canceled', 'expired', 'failed'))),
  constraint job_attempts_superseded_is_outcome check (not superseded or outcome is not null)
) partition by range (job_id);
create index job_attempts_unhappy on app.job_attempts (tenant_id, outcome, job_id desc)
  where outcome in ('failed', 'dead_letter', 'canceled', 'expired') and not superseded;

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

-- One row for each taken key. live: a job that is not finished holds it; held_until: it stays taken until then.
create table app.dedupe_keys (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  key text not null check (char_length(key) between 1 and 512),
  job_id uuid not null,
  live boolean not null default true,
  held_until timestamptz,
  primary key (tenant_id, key)
);
create index dedupe_keys_of_job on app.dedupe_keys (tenant_id, job_id);

-- Figures for cards and charts. Every enqueue and settle appends a delta; the scheduler folds them into the two
-- tables below. A reader adds both, so a figure is exact at once, and nothing ever counts history.
create table app.job_stat_deltas (
  tenant_id uuid not null,
  definition_id uuid not null,
  at timestamptz not null default app.now(),
  kind text not null check (kind in
    ('queued', 'retried', 'succeeded', 'failed', 'dead_letter', 'canceled', 'expired', 'attempt_failed')),
  n integer not null,
  wait_ms bigint not null default 0,
  run_ms bigint not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
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
create table app.live_totals (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  definition_id uuid not null,
  n bigint not null,
  primary key (tenant_id, definition_id)
);

-- Days are made ahead by the scheduler. Owner-owned, because making a partition needs the owner's rights and no
-- process connects as owner. A partition gets no grant: it can only be read through its parent and its policies.
create function app.ensure_partitions(days_ahead integer default 7) returns integer
  language plpgsql security definer set search_path = pg_catalog, app
  as $$
  declare
    parent text; day date; made integer := 0; part text;
  begin
    if days_ahead not between 0 and 60 then raise exception 'days_ahead must be between 0 and 60'; end if;
    perform pg_advisory_xact_lock(hashtextextended('leasehold.partitions', 0));
    foreach parent in array array['jobs', 'job_attempts', 'job_logs'] loop
      for i in -1 .. days_ahead loop
        day := (clock_timestamp() at time zone 'UTC')::date + i;
        part := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
        if to_regclass(format('app.%I', part)) is null then
          execute format('create table app.%I partition of app.%I for values from (%L) to (%L)', part, parent,
            app.id_floor(day::timestamp at time zone 'UTC'), app.id_floor((day + 1)::timestamp at time zone 'UTC'));
          made := made + 1;
        end if;
      end loop;
    end loop;
    return made;
  end $$;
revoke all on function app.ensure_partitions(integer) from public;
grant execute on function app.ensure_partitions(integer) to leasehold_scheduler;

-- Catches what no day covers, so that nothing is refused or lost; it must stay empty and the scheduler says so if not.
create table app.jobs_default partition of app.jobs default;
create table app.job_attempts_default partition of app.job_attempts default;
create table app.job_logs_default partition of app.job_logs default;
select app.ensure_partitions(7);

-- How many rows lie in the DEFAULT partitions (no role may read a partition itself).
create function app.default_partition_rows() returns bigint
  language sql security definer set search_path = pg_catalog, app
  as $$
    select (select count(*) from app.jobs_default) + (select count(*) from app.job_attempts_default)
         + (select count(*) from app.job_logs_default)
  $$;
revoke all on function app.default_partition_rows() from public;
grant execute on function app.default_partition_rows() to leasehold_scheduler;
