-- Events: named facts, stored with what they started. An event, its matches and the jobs that it starts are one transaction.

-- How many jobs lie between a job and what was asked for by hand. A chain of events and jobs that cause each other ends at
-- a number, whatever they are.
alter table app.jobs add column chain_depth smallint not null default 0 constraint jobs_chain_depth check (chain_depth >= 0);

create table app.events (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  -- the producer's own id: an event with it is stored once
  producer_id text check (char_length(producer_id) between 1 and 200),
  data jsonb not null,
  source text not null check (source in ('api', 'app', 'job', 'scheduler')),
  -- NULL until it is looked at, where it comes from a job; the event's own id, where nobody named one
  correlation_id text check (char_length(correlation_id) between 1 and 200),
  depth smallint not null default 0 check (depth >= 0),
  caused_by_job_id uuid,
  actor_kind text not null default 'system' check (actor_kind in ('user', 'api_key', 'system')),
  actor_id uuid,
  received_at timestamptz not null default app.now(),
  -- pending: not yet compared with the triggers
  status text not null check (status in ('pending', 'done')),
  considered_count integer not null default 0,
  matched_count integer not null default 0,
  started_count integer not null default 0,
  reason text check (reason in ('no_trigger', 'no_match', 'loop', 'suspended', 'failed')),
  -- [{trigger_id, reason, part, detail}] of triggers that listened and did not match
  misses jsonb,
  tries smallint not null default 0
);
create unique index events_producer on app.events (tenant_id, producer_id) where producer_id is not null;
create index events_newest on app.events (tenant_id, id desc);
create index events_by_name on app.events (tenant_id, name collate "C", id desc);
create index events_by_correlation on app.events (tenant_id, correlation_id, id desc) where correlation_id is not null;
create index events_by_cause on app.events (tenant_id, caused_by_job_id) where caused_by_job_id is not null;
create index events_pending on app.events (tenant_id, id) where status = 'pending';
create index events_received on app.events (received_at);

call app.protect_tenant_table('app.events');
grant select, insert on app.events to leasehold_web;
grant update (data, correlation_id, depth, status, considered_count, matched_count, started_count, reason, misses, tries)
  on app.events to leasehold_web;
-- Whoever ends jobs tells of it, and reads nothing.
create policy worker_writes on app.events for insert to leasehold_worker with check (true);
grant insert on app.events to leasehold_worker;
call app.open_to('app.events', 'leasehold_scheduler');
grant select (id, tenant_id, status, received_at), insert, delete on app.events to leasehold_scheduler;

-- Which tenants have triggers on events of jobs, and on which. Most have none, so an end of a job costs a look at an almost
-- empty table. Kept by the triggers' table itself, whoever changes it.
create table app.job_listeners (
  tenant_id uuid primary key references app.tenants (id) on delete cascade,
  event_names text[] not null
);
call app.protect_tenant_table('app.job_listeners');
grant select, insert, update (event_names) on app.job_listeners to leasehold_web;
call app.open_to('app.job_listeners', 'leasehold_worker');
call app.open_to('app.job_listeners', 'leasehold_scheduler');
grant select on app.job_listeners to leasehold_worker;
grant select, insert, update (event_names) on app.job_listeners to leasehold_scheduler;

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
create trigger job_triggers_new_listener after insert on app.job_triggers
  for each row when (new.event_name like 'job.%') execute function app.note_listeners();
create trigger job_triggers_listens after update of event_name, is_enabled, status, deleted_at on app.job_triggers
  for each row when (old.event_name like 'job.%' or new.event_name like 'job.%') execute function app.note_listeners();
revoke all on function app.note_listeners() from public;

-- As before, and with the depth of each job (item field chain_depth).
create or replace function app.enqueue_jobs(p_tenant uuid, p_kinds jsonb, p_items jsonb)
  returns table (ordinal integer, job_id uuid, deduplicated boolean, conflict text, state text, ready boolean,
                 lane_no integer, queued_at timestamptz, scheduled_for timestamptz, priority integer,
                 max_attempts integer, timeout_seconds integer)
  language plpgsql set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  declare
    v_now timestamptz := app.now();
    v_linked boolean := jsonb_path_exists(p_items, '$[*].depends_on');
    v_keyed boolean := jsonb_path_exists(p_items, '$[*].dedupe_key');
    v_duplicates jsonb := '{}'::jsonb;
    v_answered integer;
  begin
    perform set_config('app.current_tenant_id', p_tenant::text, true);
    perform app.make_lane(p_tenant, s.definition_id, s.definition_version, s.queue, s.priority)
      from jsonb_to_recordset(p_kinds) as s (definition_id uuid, definition_version integer, queue text, priority integer)
      where not exists (
        select 1 from app.job_definitions d
        join app.tenants t on t.id = p_tenant and t.status = 'active'
        join app.job_queues q on case when s.queue is null then q.id = d.queue_id else q.name = s.queue and q.is_active end
        join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = d.id
          and l.band = app.band_of(coalesce(s.priority, q.default_priority))
        where d.id = s.definition_id and d.version = s.definition_version and d.is_active);

    -- Whoever takes a key or is waited for has its id before it is inserted.
    if v_keyed or v_linked then
      p_items := (select jsonb_agg(i || jsonb_build_object('id', coalesce(i ->> 'id', app.new_id()::text), 'n', n) order by n)
                  from jsonb_array_elements(p_items) with ordinality e (i, n));
    end if;
    if v_keyed then
      v_duplicates := app.find_duplicates(p_tenant, (
        select jsonb_agg((p_kinds -> (i ->> 'kind')::integer) || i order by i -> 'n')
        from jsonb_array_elements(p_items) i where i ? 'dedupe_key'));
    end if;

    return query
    with kind as materialized (
      select x.n - 1 as kind, x.definition_id, x.definition_version, l.lane_no as lane,
        coalesce(x.priority, q.default_priority) as rank, coalesce(x.max_attempts, d.max_attempts, q.max_attempts, 3) as attempts,
        case when x.timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else x.timeout_seconds end as time_limit
      from rows from (jsonb_to_recordset(p_kinds) as (definition_id uuid, definition_version integer, queue text,
        priority integer, max_attempts integer, timeout_seconds integer)) with ordinality
        as x (definition_id, definition_version, queue, priority, max_attempts, timeout_seconds, n)
      join app.job_definitions d on d.id = x.definition_id
      join app.job_queues q on case when x.queue is null then q.id = d.queue_id else q.name = x.queue end
      join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = x.definition_id
        and l.band = app.band_of(coalesce(x.priority, q.default_priority))
    ), item as materialized (
      select x.n as place, coalesce(x.id, app.new_id()) as new_id, x.*, k.definition_id, k.definition_version, k.lane, k.rank,
        k.attempts, k.time_limit, coalesce(x.scheduled_for, v_now) as due,
        case when v_keyed then v_duplicates -> x.n::text end as holder
      from rows from (jsonb_to_recordset(p_items) as (kind integer, id uuid, source text, source_ref text, payload jsonb,
        tags jsonb, metadata jsonb, correlation_id text, parent_job_id uuid, retried_from_id uuid, dedupe_key text,
        scheduled_for timestamptz, expires_at timestamptz, retry_delay_seconds double precision,
        retry_multiplier double precision, created_by uuid, depends_on jsonb, chain_depth smallint)) with ordinality
        as x (kind, id, source, source_ref, payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key,
          scheduled_for, expires_at, retry_delay_seconds, retry_multiplier, created_by, depends_on, chain_depth, n)
      join kind k on k.kind = x.kind
    ), fresh as materialized (
      select * from item where holder is null
    ), record as (
      insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
        payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key, scheduled_for, expires_at,
        max_attempts, timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at, chain_depth)
      select f.new_id, p_tenant, f.definition_id, f.definition_version, f.lane, coalesce(f.source, 'manual'), f.source_ref, f.rank,
        coalesce(f.payload, 'null'::jsonb),
        case when f.tags is null then '{}' else array(select jsonb_array_elements_text(f.tags)) end,
        coalesce(f.metadata, '{}'::jsonb), f.correlation_id, f.parent_job_id, f.retried_from_id, f.dedupe_key, f.due,
        f.expires_at, f.attempts, f.time_limit, f.retry_delay_seconds, f.retry_multiplier, f.created_by, v_now, coalesce(f.chain_depth, 0)
      from fresh f
    ), live as (
      insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at,
        has_dedupe_key)
      select f.new_id, p_tenant, f.lane, case when f.depends_on is null then 'queued' else 'blocked' end,
        f.due <= v_now and f.depends_on is null, app.sort_key_of(f.due, f.rank), f.rank, f.due,
        f.expires_at, f.dedupe_key is not null
      from fresh f
    ), delta as (
      insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      select p_tenant, f.definition_id, v_now, 'queued', count(*) from fresh f group by f.definition_id
    )
    select i.place::integer, coalesce((i.holder ->> 'job_id')::uuid, i.new_id), i.holder is not null, i.holder ->> 'conflict',
      coalesce(i.holder ->> 'state', case when i.depends_on is null then 'queued' else 'blocked' end),
      coalesce((i.holder -> 'ready')::boolean, i.due <= v_now and i.depends_on is null),
      coalesce((i.holder -> 'lane_no')::integer, i.lane), coalesce((i.holder ->> 'queued_at')::timestamptz, v_now),
      coalesce((i.holder ->> 'scheduled_for')::timestamptz, i.due), i.rank, i.attempts, i.time_limit
    from item i order by i.place;
    -- A queue or definition that was changed since its lane was looked up leaves items without one.
    get diagnostics v_answered = row_count;
    if v_answered < jsonb_array_length(p_items) then
      raise exception 'a queue or a definition changed' using errcode = 'LH002';
    end if;

    -- A job that waits for others is inserted blocked. Whether it still is when the transaction ends, the caller reads.
    -- Who waits for an item whose dedupe key was taken waits for the holder.
    if v_linked then
      perform app.link_dependencies(p_tenant, (
        select jsonb_agg(e || jsonb_build_object('child_id', i ->> 'id', 'parent_id', coalesce(h.holder, e ->> 'parent_id')))
        from jsonb_array_elements(p_items) i cross join jsonb_array_elements(i -> 'depends_on') e
        left join (select d ->> 'id' as id, v_duplicates #>> array[d ->> 'n', 'job_id'] as holder
                   from jsonb_array_elements(p_items) d where v_duplicates ? (d ->> 'n')) h on h.id = e ->> 'parent_id'
        where not v_duplicates ? (i ->> 'n')));
    end if;
  end $$;

-- As before, and tells who listens.
create or replace function app.end_blocked(p_ends jsonb) returns table (job_id uuid, lane_no integer, has_dependents boolean)
  language plpgsql set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  begin
    return query with asked as materialized (
      select l.tid, x.outcome, x.error_type, x.error_text
      from jsonb_to_recordset(p_ends) as x (id uuid, outcome text, error_type text, error_text text)
      cross join lateral (select y.ctid as tid from app.live_jobs y where y.job_id = x.id and y.state = 'blocked' offset 0) l
    ), ended as (
      delete from app.live_jobs l using asked x where l.ctid = x.tid
      returning l.*, x.outcome, x.error_type, x.error_text
    ), attempt as (
      insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at,
        attempt_count, error_type, error_text)
      select e.job_id, e.lease_no + 1, e.tenant_id, e.run_no, e.outcome, app.now(), e.outcome, e.started_at, e.attempts_spent,
        e.error_type, e.error_text from ended e
    ), freed as (
      delete from app.dedupe_keys k using ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
        and k.job_id = e.job_id and (k.held_until is null or k.held_until <= app.now())
    ), kept as (
      update app.dedupe_keys k set live = false from ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
        and k.job_id = e.job_id and k.held_until > app.now()
    ), counted as (
      insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      select e.tenant_id, l.definition_id, app.now(), e.outcome, count(*)
      from ended e join app.lanes l on l.lane_no = e.lane_no group by 1, 2, 4
    ), told as (
      insert into app.events (tenant_id, name, data, source, caused_by_job_id, status)
      select e.tenant_id, 'job.' || e.outcome, jsonb_build_object('job_id', e.job_id, 'run_no', e.run_no), 'job', e.job_id, 'pending'
      from ended e join app.job_listeners k on k.tenant_id = e.tenant_id and 'job.' || e.outcome = any (k.event_names)
    )
    select e.job_id, e.lane_no, e.has_dependents from ended e;
  end $$;
