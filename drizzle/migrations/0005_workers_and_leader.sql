-- Which processes there are. Status (live, late, stale, dead) is computed from last_seen_at when read, never stored.
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
  metadata jsonb not null default '{}'::jsonb
) with (fillfactor = 50);

-- One row: who leads, and in which term. Every write of a leader names its term.
create table app.leader (
  only_row boolean primary key default true check (only_row),
  term bigint not null default 0,
  leader_id text,
  acquired_at timestamptz,
  last_seen_at timestamptz
) with (fillfactor = 50);
insert into app.leader default values;
