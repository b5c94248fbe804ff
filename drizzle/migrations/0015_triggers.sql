-- What starts jobs by itself: triggers, and what became of each of their instants and events.

-- next_run_at is the next instant of an enabled schedule, by the database's clock (NULL = none to come); it and the instant
-- after it are stored, so that many triggers that are due at once cost no computation. A broken schedule whose instants can
-- still be told keeps them and is active again with the first that makes a job; one whose instants cannot be told has none. version rises with each change by a
-- person or a key; what the scheduler writes leaves it as it is.
create table app.job_triggers (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  label text not null check (char_length(label) between 1 and 200),
  trigger_type text not null check (trigger_type in ('event', 'schedule')),
  is_enabled boolean not null default true,
  definition_id uuid not null references app.job_definitions (id),
  -- NULL = the definition's queue, the queue's priority
  queue text references app.job_queues (name),
  priority integer check (priority between 1 and 1000),
  payload_template jsonb not null default '{}'::jsonb,
  dedupe_window_seconds integer not null default 300 check (dedupe_window_seconds between 0 and 2678400),
  dedupe_key_template text check (char_length(dedupe_key_template) between 1 and 1000),
  event_name text check (char_length(event_name) between 1 and 200),
  condition text check (char_length(condition) between 1 and 4000),
  schedule_type text check (schedule_type in ('cron', 'interval', 'once')),
  cron_expr text,
  interval_ms bigint check (interval_ms > 0),
  anchor_at timestamptz,
  once_at timestamptz,
  timezone text,
  overlap_policy text not null check (overlap_policy in ('allow', 'skip', 'queue_one')),
  catch_up text not null default 'last' check (catch_up in ('skip', 'last', 'all')),
  catch_up_limit integer not null default 10 check (catch_up_limit between 1 and 1000),
  -- NULL = by the rule: a fixed time runs once after the gap and on the first pass, a cadence goes on through both
  dst_gap text check (dst_gap in ('run_after', 'skip')),
  dst_overlap text check (dst_overlap in ('first', 'both')),
  jitter_seconds integer not null default 0 check (jitter_seconds between 0 and 3600),
  max_runs integer check (max_runs >= 1),
  expires_at timestamptz,
  run_count bigint not null default 0 check (run_count >= 0),
  next_run_at timestamptz,
  following_run_at timestamptz,
  last_run_at timestamptz,
  status text not null default 'active' check (status in ('active', 'broken', 'finished')),
  status_reason text,
  version integer not null default 1 check (version >= 1),
  created_by uuid,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  deleted_at timestamptz,
  unique (tenant_id, id),
  constraint job_triggers_event check ((trigger_type = 'event') = (event_name is not null)),
  constraint job_triggers_condition check (condition is null or trigger_type = 'event'),
  constraint job_triggers_schedule check ((trigger_type = 'schedule') = (schedule_type is not null)
    and (trigger_type = 'schedule') = (timezone is not null)),
  constraint job_triggers_cron check ((schedule_type is not distinct from 'cron') = (cron_expr is not null)),
  constraint job_triggers_interval check ((schedule_type is not distinct from 'interval') = (interval_ms is not null)
    and (interval_ms is null) = (anchor_at is null)),
  constraint job_triggers_once check ((schedule_type is not distinct from 'once') = (once_at is not null)),
  constraint job_triggers_next check (next_run_at is null
    or (trigger_type = 'schedule' and is_enabled and status <> 'finished' and deleted_at is null)),
  constraint job_triggers_following check (following_run_at is null or following_run_at > next_run_at)
);
create index job_triggers_due on app.job_triggers (next_run_at, tenant_id) where next_run_at is not null;
create index job_triggers_listening on app.job_triggers (tenant_id, event_name)
  where trigger_type = 'event' and is_enabled and status = 'active' and deleted_at is null;

-- One row for what became of an instant, of an event that met its trigger, or of a run that somebody asked for. A long row of
-- skipped instants is one row: n of them, from fire_at until "until".
create table app.trigger_firings (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null,
  trigger_id uuid not null,
  kind text not null check (kind in ('schedule', 'event', 'manual')),
  -- the instant; for an event when it was received, for a run by hand when it was asked for
  fire_at timestamptz not null,
  event_id uuid,
  outcome text not null check (outcome in ('enqueued', 'deduplicated', 'skipped', 'failed')),
  reason text check (char_length(reason) <= 100),
  detail text check (char_length(detail) <= 2000),
  n integer not null default 1 check (n >= 1),
  until timestamptz,
  job_id uuid,
  is_catch_up boolean not null default false,
  note text check (char_length(note) <= 500),
  created_at timestamptz not null default app.now(),
  foreign key (tenant_id, trigger_id) references app.job_triggers (tenant_id, id) on delete cascade,
  constraint trigger_firings_job check ((outcome in ('enqueued', 'deduplicated')) = (job_id is not null)),
  constraint trigger_firings_reason check ((outcome in ('skipped', 'failed')) = (reason is not null)),
  constraint trigger_firings_range check ((n > 1) = (until is not null))
);
-- An instant fires once, whoever leads.
create unique index trigger_firings_instant on app.trigger_firings (tenant_id, trigger_id, fire_at) where kind = 'schedule';
create index trigger_firings_of_trigger on app.trigger_firings (tenant_id, trigger_id, id desc);
-- Which jobs of a trigger may still be unfinished, and how many were made: past any number of skipped instants.
create index trigger_firings_with_job on app.trigger_firings (tenant_id, trigger_id, id desc) where job_id is not null;
create index trigger_firings_skipped on app.trigger_firings (tenant_id, trigger_id, id desc) where outcome = 'skipped';
create index trigger_firings_of_event on app.trigger_firings (event_id) where event_id is not null;

call app.protect_tenant_table('app.job_triggers');
call app.protect_tenant_table('app.trigger_firings');
call app.open_to('app.job_triggers', 'leasehold_scheduler');
call app.open_to('app.trigger_firings', 'leasehold_scheduler');
grant select, insert on app.job_triggers, app.trigger_firings to leasehold_web;
grant update (label, is_enabled, definition_id, queue, priority, payload_template, dedupe_window_seconds,
  dedupe_key_template, event_name, condition, schedule_type, cron_expr, interval_ms, anchor_at, once_at, timezone,
  overlap_policy, catch_up, catch_up_limit, dst_gap, dst_overlap, jitter_seconds, max_runs, expires_at, run_count,
  next_run_at, following_run_at, last_run_at, status, status_reason, version, updated_at, deleted_at)
  on app.job_triggers to leasehold_web;
-- The scheduler fires and says when next; what is to be done, and for whom, it cannot change.
grant select on app.job_triggers to leasehold_scheduler;
grant update (run_count, next_run_at, following_run_at, last_run_at, status, status_reason) on app.job_triggers
  to leasehold_scheduler;
grant select, insert, delete on app.trigger_firings to leasehold_scheduler;

-- A firing and its job are one transaction, of the scheduler's role.
grant insert on app.lanes, app.jobs, app.live_jobs, app.dedupe_keys to leasehold_scheduler;
grant update (job_id, held_until) on app.dedupe_keys to leasehold_scheduler;
-- The one job that may wait for the running job of its trigger is a child of it.
grant insert on app.job_dependencies to leasehold_scheduler;
grant update (has_dependents) on app.live_jobs to leasehold_scheduler;
grant execute on function app.hold_parents(uuid, uuid[]), app.link_dependencies(uuid, jsonb) to leasehold_scheduler;
grant execute on function app.enqueue_jobs(uuid, jsonb, jsonb), app.take_dedupe_keys(uuid, text[], uuid[], timestamptz[]),
  app.make_lane(uuid, uuid, integer, text, integer), app.meet_duplicate(uuid, uuid, jsonb), app.find_duplicates(uuid, jsonb)
  to leasehold_scheduler;

-- The same trail also holds what people and keys did to triggers.
alter table app.job_audit alter column job_id drop not null,
  add column trigger_id uuid,
  add constraint job_audit_object check (num_nonnulls(job_id, trigger_id) >= 1);
create index job_audit_of_trigger on app.job_audit (tenant_id, trigger_id, id) where trigger_id is not null;
