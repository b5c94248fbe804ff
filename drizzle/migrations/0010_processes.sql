-- The processes of the installation: workers, schedulers and their leader, and the files that web processes share.

-- Workers -------------------------------------------------------------------------------------------------------------

-- Registered workers. A worker's status (live, late, stale, dead) is computed from last_seen_at when it is read, never stored.
create table app.job_workers (
  worker_id text primary key check (char_length(worker_id) <= 300),
  hostname text not null,
  pid integer not null,
  version text not null default '',
  label text not null default '',
  queues text[] not null default '{}',
  definitions text[] not null default '{}',
  capacity integer not null default 0,
  running_count integer not null default 0,
  health_port integer,
  isolation text not null default '',
  started_at timestamptz not null default app.now(),
  last_seen_at timestamptz not null default app.now(),
  draining_since timestamptz,
  stopped_at timestamptz,
  cpu_percent real,
  rss_bytes bigint,
  event_loop_lag_ms real,
  metadata jsonb not null default '{}'::jsonb,
  -- The version of the time-zone data of the process. NULL: it computes no instants (a remote worker), or its Node has no data.
  tz_version text check (char_length(tz_version) <= 20)
) with (fillfactor = 50);
grant select, insert, update, delete on app.job_workers to leasehold_worker;
grant select on app.job_workers to leasehold_web, leasehold_platform;
grant select, delete on app.job_workers to leasehold_scheduler;
-- For the row locks of its sweep; the scheduler never changes this column.
grant update (stopped_at) on app.job_workers to leasehold_scheduler;

-- Which jobs of a worker have begun. A worker claims short jobs ahead and may begin hundreds of them in a second. Each claim
-- numbers its jobs (app.live_jobs.claim_no), and this one row says which numbers have begun: all up to upto except those in
-- waiting. The update costs the same for one job as for fifty. An attempt has begun if its live row or this row says so.
create table app.attempt_marks (
  worker_id text primary key references app.job_workers (worker_id) on delete cascade,
  upto bigint not null default 0,
  waiting int8multirange not null default '{}',
  -- How often leases were taken from the worker. An update by the worker must name the current number, so that it begins no
  -- job under a lease it has lost.
  taken integer not null default 0,
  marked_at timestamptz not null default app.now()
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);
grant select, insert, update on app.attempt_marks to leasehold_worker;
grant select, update (taken) on app.attempt_marks to leasehold_scheduler;

-- Schedulers ----------------------------------------------------------------------------------------------------------

-- The schedulers that are alive, leading or on standby. The one with the newest time-zone data leads, so each reads the
-- tz_version of the others.
create table app.schedulers (
  scheduler_id text primary key check (char_length(scheduler_id) <= 300),
  version text not null default '',
  tz_version text check (char_length(tz_version) <= 20),
  started_at timestamptz not null default app.now(),
  last_seen_at timestamptz not null default app.now()
) with (fillfactor = 50);
grant select, insert, update (last_seen_at), delete on app.schedulers to leasehold_scheduler;
grant select on app.schedulers to leasehold_platform;

-- One row: the leading scheduler and its term. Every write of a leader names its term.
create table app.leader (
  only_row boolean primary key default true check (only_row),
  term bigint not null default 0,
  leader_id text,
  acquired_at timestamptz,
  last_seen_at timestamptz
) with (fillfactor = 50);
insert into app.leader default values;
grant select on app.leader to leasehold_web, leasehold_worker, leasehold_platform;
grant select, update (term, leader_id, acquired_at, last_seen_at) on app.leader to leasehold_scheduler;

-- Web processes -------------------------------------------------------------------------------------------------------

-- Scripts, styles and fonts of every build of the pages that is being served. Behind a load balancer, a page may come from one
-- build and the request for its script reach a process of another. Any web process can serve what another one published.
create table app.web_assets (
  path text primary key check (path ~ '^/_next/static/[A-Za-z0-9._~/-]+$' and length(path) <= 300),
  media_type text not null check (length(media_type) between 1 and 100),
  body bytea not null check (octet_length(body) <= 16777216),
  -- When a process that serves the build last published the file. A week later the file is pruned.
  published_at timestamptz not null default app.now()
);
grant select, insert, update (published_at), delete on app.web_assets to leasehold_web;
