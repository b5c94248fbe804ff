-- What starts jobs on its own: triggers, events, and the firings that record what each trigger did.

-- Triggers ------------------------------------------------------------------------------------------------------------

-- The event names (job.*) for which a tenant has active triggers. Most tenants have none, so the end of a job costs one lookup
-- in an almost empty table. Triggers on app.job_triggers keep it up to date for writes by any role.
create table app.job_listeners (
  tenant_id uuid primary key references app.tenants (id) on delete cascade,
  event_names text[] not null
);
call app.protect_tenant_table('app.job_listeners');
call app.open_to('app.job_listeners', 'leasehold_worker');
call app.open_to('app.job_listeners', 'leasehold_scheduler');
grant select on app.job_listeners to leasehold_worker;
grant select, insert, update (event_names) on app.job_listeners to leasehold_web, leasehold_scheduler;

-- Recomputes the tenant's row in app.job_listeners.
create function app.note_listeners() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    -- The row is locked first and counted afterwards, so that of two changes at once the second sees the first.
    insert into app.job_listeners (tenant_id, event_names) values (new.tenant_id, '{}') on conflict do nothing;
    perform 1 from app.job_listeners where tenant_id = new.tenant_id for update;
    update app.job_listeners set event_names = coalesce((
      select array_agg(distinct t.event_name) from app.job_triggers t
      where t.tenant_id = new.tenant_id and t.trigger_type = 'event' and t.is_enabled and t.status = 'active'
        and t.deleted_at is null and t.event_name like 'job.%'), '{}')
      where tenant_id = new.tenant_id;
    return null;
  end $$;
revoke all on function app.note_listeners() from public;

-- A trigger makes a job of one definition when an event of a name arrives, or by a schedule.
-- next_run_at is the next instant of an enabled schedule by the database's clock; NULL: none is left. The instant after it is
-- stored too, so that many triggers due at once cost no computation. A broken schedule whose instants can still be computed
-- keeps them, and becomes active again with the first that makes a job; one whose instants cannot be computed has none.
-- version rises with each change by a person or a key; the scheduler's writes leave it unchanged.
create table app.job_triggers (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  label text not null check (char_length(label) between 1 and 200),
  trigger_type text not null check (trigger_type in ('event', 'schedule')),
  is_enabled boolean not null default true,
  definition_id uuid not null references app.job_definitions (id),
  -- NULL: the definition's queue, the queue's priority.
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
  -- NULL: the kind of schedule decides. A fixed time fires once (right after a gap, first pass of an overlap); a cadence
  -- follows the clock.
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
-- The scheduler finds the tenants that have a schedule due, and the oldest due schedules of each, however many are due.
create index job_triggers_due_of_tenant on app.job_triggers (tenant_id, next_run_at) where next_run_at is not null;
create index job_triggers_listening on app.job_triggers (tenant_id, event_name)
  where trigger_type = 'event' and is_enabled and status = 'active' and deleted_at is null;
-- A deleted trigger stays for as long as firings are kept; then the scheduler prunes it.
create index job_triggers_deleted on app.job_triggers (deleted_at) where deleted_at is not null;
call app.protect_tenant_table('app.job_triggers');
call app.open_to('app.job_triggers', 'leasehold_scheduler');
grant select, insert on app.job_triggers to leasehold_web;
grant update (label, is_enabled, definition_id, queue, priority, payload_template, dedupe_window_seconds,
  dedupe_key_template, event_name, condition, schedule_type, cron_expr, interval_ms, anchor_at, once_at, timezone,
  overlap_policy, catch_up, catch_up_limit, dst_gap, dst_overlap, jitter_seconds, max_runs, expires_at, run_count,
  next_run_at, following_run_at, last_run_at, status, status_reason, version, updated_at, deleted_at)
  on app.job_triggers to leasehold_web;
-- The scheduler fires triggers and stores the next instants. It cannot change what a trigger does, nor for which tenant.
grant select, delete on app.job_triggers to leasehold_scheduler;
grant update (run_count, next_run_at, following_run_at, last_run_at, status, status_reason) on app.job_triggers
  to leasehold_scheduler;
create trigger job_triggers_new_listener after insert on app.job_triggers
  for each row when (new.event_name like 'job.%') execute function app.note_listeners();
create trigger job_triggers_listens after update of event_name, is_enabled, status, deleted_at on app.job_triggers
  for each row when (old.event_name like 'job.%' or new.event_name like 'job.%') execute function app.note_listeners();

-- Firings -------------------------------------------------------------------------------------------------------------

-- What came of an instant, of an event that matched the trigger, or of a manual run. Many skipped instants in a row share one
-- firing: n of them, from fire_at until "until".
-- A firing is held (reason loop_suspected) if its event is a change of a folder that the trigger's own job may have made. A
-- held firing starts its job later, and its row is updated with the outcome.
create table app.trigger_firings (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null,
  trigger_id uuid not null,
  kind text not null check (kind in ('schedule', 'event', 'manual')),
  -- The instant of the schedule; when the event was received; when the manual run was requested.
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
-- An instant fires once, also if the leader changes.
create unique index trigger_firings_instant on app.trigger_firings (tenant_id, trigger_id, fire_at) where kind = 'schedule';
create index trigger_firings_of_trigger on app.trigger_firings (tenant_id, trigger_id, id desc);
-- Finds a trigger's jobs, to see which are unfinished and how many there were, past any number of skipped instants.
create index trigger_firings_with_job on app.trigger_firings (tenant_id, trigger_id, id desc) where job_id is not null;
create index trigger_firings_skipped on app.trigger_firings (tenant_id, trigger_id, id desc) where outcome = 'skipped';
create index trigger_firings_held on app.trigger_firings (tenant_id, trigger_id, id) where reason = 'loop_suspected';
create index trigger_firings_of_event on app.trigger_firings (event_id) where event_id is not null;
call app.protect_tenant_table('app.trigger_firings');
call app.open_to('app.trigger_firings', 'leasehold_scheduler');
grant select, insert, update (outcome, reason, detail, job_id, note) on app.trigger_firings to leasehold_web;
grant select, insert, delete on app.trigger_firings to leasehold_scheduler;
-- For the row locks of its sweep; the scheduler never changes this column.
grant update (created_at) on app.trigger_firings to leasehold_scheduler;

-- Events --------------------------------------------------------------------------------------------------------------

-- Named facts, stored with what they started. The comparison of an event with the triggers, its firings and its jobs are one
-- transaction. A pending event waits until the leading scheduler compares it.
create table app.events (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  -- The producer's own id of the event.
  producer_id text check (char_length(producer_id) between 1 and 200),
  data jsonb not null,
  source text not null check (source in ('api', 'app', 'job', 'scheduler')),
  -- The event's own id if the producer names none. NULL while the event of a job is pending.
  correlation_id text check (char_length(correlation_id) between 1 and 200),
  -- The chain depth of the job that caused the event. At a maximum depth events start no jobs, so that each chain ends.
  depth smallint not null default 0 check (depth >= 0),
  caused_by_job_id uuid,
  actor_kind text not null default 'system' check (actor_kind in ('user', 'api_key', 'system')),
  actor_id uuid,
  received_at timestamptz not null default app.now(),
  -- pending: not compared with the triggers yet.
  status text not null check (status in ('pending', 'done')),
  considered_count integer not null default 0,
  matched_count integer not null default 0,
  started_count integer not null default 0,
  reason text check (reason in ('no_trigger', 'no_match', 'loop', 'suspended', 'failed')),
  -- [{trigger_id, reason, part, detail}] of the triggers that listened and did not match.
  misses jsonb,
  tries smallint not null default 0
);
-- A producer id counts for its producer alone, so no other producer can keep an event from being stored.
create unique index events_producer on app.events (tenant_id, producer_id, actor_kind,
  coalesce(actor_id, '00000000-0000-0000-0000-000000000000')) where producer_id is not null;
create index events_newest on app.events (tenant_id, id desc);
create index events_by_name on app.events (tenant_id, name collate "C", id desc);
create index events_by_correlation on app.events (tenant_id, correlation_id, id desc) where correlation_id is not null;
create index events_by_cause on app.events (tenant_id, caused_by_job_id) where caused_by_job_id is not null;
create index events_pending on app.events (tenant_id, id) where status = 'pending';
create index events_received on app.events (received_at);
call app.protect_tenant_table('app.events');
call app.open_to('app.events', 'leasehold_scheduler');
-- Workers publish the ends of jobs, the platform role its changes to tenants. Neither reads events.
create policy worker_writes on app.events for insert to leasehold_worker with check (true);
create policy platform_writes on app.events for insert to leasehold_platform with check (true);
grant select, insert on app.events to leasehold_web;
grant update (data, correlation_id, depth, status, considered_count, matched_count, started_count, reason, misses, tries)
  on app.events to leasehold_web;
grant insert on app.events to leasehold_worker, leasehold_platform;
grant select (id, tenant_id, status, received_at), insert, delete on app.events to leasehold_scheduler;
-- For the row locks of its sweep; the scheduler never changes this column.
grant update (received_at) on app.events to leasehold_scheduler;
