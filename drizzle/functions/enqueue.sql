-- Enqueueing takes one round trip: one function sets the tenant for its transaction and inserts everything, with the
-- caller's own rights and policies (security invoker). Separate BEGIN, set_config, INSERT and COMMIT reach half its
-- rate. The roles of people and of the scheduler plan every execution (lib/db/migrate/roles.ts), which would cost more
-- than the rest of an enqueue. So these functions pin generic plans: index scans by key, whatever the statistics say.
-- app.enqueue_job and app.enqueue_alike set no search_path, so they name functions with their schema. A value that a
-- job does not set comes from its definition, then from its queue. All functions raise LH001, LH002 and LH003 as
-- app.make_lane does. Start with app.enqueue_job; app.enqueue_jobs is the general case.

-- Enqueues one job that has no dedupe key and no dependencies: the same as a batch of one, in half the time. The
-- function tests whether a queue is named before the lookup, so that one plan serves all calls. Three INSERTs cost less
-- than one statement with all three.
create or replace function app.enqueue_job(
  p_tenant uuid,
  p_definition_id uuid,
  p_definition_version integer,
  p_queue text,
  p_source text,
  p_source_ref text,
  p_priority integer,
  p_payload jsonb,
  p_tags text[],
  p_metadata jsonb,
  p_correlation_id text,
  p_parent_job_id uuid,
  p_retried_from_id uuid,
  p_scheduled_for timestamptz,
  p_expires_at timestamptz,
  p_max_attempts integer,
  p_timeout_seconds integer,
  p_retry_delay_seconds double precision,
  p_retry_multiplier double precision,
  p_created_by uuid
)
returns table (
  ordinal integer,
  job_id uuid,
  deduplicated boolean,
  conflict text,
  state text,
  ready boolean,
  lane_no integer,
  queued_at timestamptz,
  scheduled_for timestamptz,
  priority integer,
  max_attempts integer,
  timeout_seconds integer
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_tenant text := pg_catalog.set_config('app.current_tenant_id', p_tenant::text, true);
  v_now timestamptz := app.now();
  v_due timestamptz := coalesce(p_scheduled_for, v_now);
  v_ready boolean := v_due <= v_now;
  v_id uuid := app.new_id();
  v_lane integer;
  v_priority integer;
  v_attempts integer;
  v_timeout integer;
begin
  for i in 1 .. 2 loop
    if p_queue is null then
      select
        l.lane_no,
        coalesce(p_priority, q.default_priority),
        coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
        case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
      into v_lane, v_priority, v_attempts, v_timeout
      from app.job_definitions d
      join app.tenants t on t.id = p_tenant and t.status = 'active'
      join app.job_queues q on q.id = d.queue_id
      join app.lanes l
        on l.tenant_id = p_tenant
        and l.queue_id = q.id
        and l.definition_id = p_definition_id
        and l.band = app.band_of(coalesce(p_priority, q.default_priority))
      where d.id = p_definition_id
        and d.version = p_definition_version
        and d.is_active;
    else
      select
        l.lane_no,
        coalesce(p_priority, q.default_priority),
        coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
        case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
      into v_lane, v_priority, v_attempts, v_timeout
      from app.job_definitions d
      join app.tenants t on t.id = p_tenant and t.status = 'active'
      join app.job_queues q on q.name = p_queue and q.is_active
      join app.lanes l
        on l.tenant_id = p_tenant
        and l.queue_id = q.id
        and l.definition_id = p_definition_id
        and l.band = app.band_of(coalesce(p_priority, q.default_priority))
      where d.id = p_definition_id
        and d.version = p_definition_version
        and d.is_active;
    end if;
    exit when v_lane is not null;
    perform app.make_lane(p_tenant, p_definition_id, p_definition_version, p_queue, p_priority);
  end loop;

  insert into app.jobs (
    id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority, payload, tags, metadata,
    correlation_id, parent_job_id, retried_from_id, scheduled_for, expires_at, max_attempts, timeout_seconds,
    retry_delay_seconds, retry_multiplier, created_by, queued_at
  )
  values (
    v_id, p_tenant, p_definition_id, p_definition_version, v_lane, p_source, p_source_ref, v_priority, p_payload,
    coalesce(p_tags, '{}'),
    coalesce(p_metadata, '{}'), p_correlation_id, p_parent_job_id, p_retried_from_id, v_due, p_expires_at, v_attempts, v_timeout,
    p_retry_delay_seconds, p_retry_multiplier, p_created_by, v_now
  );
  insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at)
  values (v_id, p_tenant, v_lane, 'queued', v_ready, app.sort_key_of(v_due, v_priority), v_priority, v_due, p_expires_at);
  insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
  values (p_tenant, p_definition_id, v_now, 'queued', 1);

  ordinal := 1;
  job_id := v_id;
  deduplicated := false;
  state := 'queued';
  ready := v_ready;
  lane_no := v_lane;
  queued_at := v_now;
  scheduled_for := v_due;
  priority := v_priority;
  max_attempts := v_attempts;
  timeout_seconds := v_timeout;
  return next;
end
$$;
revoke all on function app.enqueue_job(
  uuid, uuid, integer, text, text, text, integer, jsonb, text[], jsonb, text, uuid, uuid, timestamptz, timestamptz, integer,
  integer, double precision, double precision, uuid
) from public;
grant execute on function app.enqueue_job(
  uuid, uuid, integer, text, text, text, integer, jsonb, text[], jsonb, text, uuid, uuid, timestamptz, timestamptz, integer,
  integer, double precision, double precision, uuid
) to leasehold_web, leasehold_worker;

-- Enqueues one job per entry of p_payloads, all or nothing. The jobs differ only in their payloads and, like those of
-- app.enqueue_job, have no dedupe key and no dependencies; new_ids is in the order of the payloads. Shared values are
-- looked up, checked and returned once, in variables of the columns' own domains. Such a job costs half of what other
-- jobs cost in a batch.
create or replace function app.enqueue_alike(
  p_tenant uuid,
  p_definition_id uuid,
  p_definition_version integer,
  p_queue text,
  p_source text,
  p_source_ref text,
  p_priority integer,
  p_payloads jsonb,
  p_tags text[],
  p_metadata jsonb,
  p_correlation_id text,
  p_parent_job_id uuid,
  p_retried_from_id uuid,
  p_scheduled_for timestamptz,
  p_expires_at timestamptz,
  p_max_attempts integer,
  p_timeout_seconds integer,
  p_retry_delay_seconds double precision,
  p_retry_multiplier double precision,
  p_created_by uuid,
  out new_ids uuid[],
  out ready boolean,
  out lane_no integer,
  out queued_at timestamptz,
  out scheduled_for timestamptz,
  out priority integer,
  out max_attempts integer,
  out timeout_seconds integer
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_tenant text := pg_catalog.set_config('app.current_tenant_id', p_tenant::text, true);
  v_now timestamptz := app.now();
  v_due timestamptz := coalesce(p_scheduled_for, v_now);
  v_ready boolean := v_due <= v_now;
  v_count integer := pg_catalog.jsonb_array_length(p_payloads);
  v_ids uuid[] := app.new_ids(v_count);
  v_source app.job_source := p_source;
  v_tags text[] := coalesce(p_tags, '{}');
  v_metadata jsonb := coalesce(p_metadata, '{}');
  v_delay app.retry_delay_seconds := p_retry_delay_seconds;
  v_multiplier app.retry_multiplier := p_retry_multiplier;
  v_depth app.chain_depth := 0;
  v_run app.run_no := 1;
  v_lease app.lease_no := 0;
  v_none app.tally := 0;
  v_percent app.percent;
  v_message app.progress_message;
  v_queue integer;
  v_lane integer;
  v_sort double precision;
  v_priority app.job_priority;
  v_attempts app.attempts_allowed;
  v_timeout app.time_limit_seconds;
begin
  for i in 1 .. 2 loop
    if p_queue is not null then
      select q.id
      into v_queue
      from app.job_queues q
      where q.name = p_queue
        and q.is_active;
    end if;
    if p_queue is null or v_queue is not null then
      select
        l.lane_no,
        coalesce(p_priority, q.default_priority),
        coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
        case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
      into v_lane, v_priority, v_attempts, v_timeout
      from app.job_definitions d
      join app.tenants t on t.id = p_tenant and t.status = 'active'
      join app.job_queues q on q.id = coalesce(v_queue, d.queue_id)
      join app.lanes l
        on l.tenant_id = p_tenant
        and l.queue_id = q.id
        and l.definition_id = p_definition_id
        and l.band = app.band_of(coalesce(p_priority, q.default_priority))
      where d.id = p_definition_id
        and d.version = p_definition_version
        and d.is_active;
    end if;
    exit when v_lane is not null;
    perform app.make_lane(p_tenant, p_definition_id, p_definition_version, p_queue, p_priority);
  end loop;
  if v_lane is null then
    raise exception 'a queue or a definition changed' using errcode = 'LH002';
  end if;

  v_sort := app.sort_key_of(v_due, v_priority);
  insert into app.jobs (
    id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority, payload, tags, metadata,
    correlation_id, parent_job_id, retried_from_id, scheduled_for, expires_at, max_attempts, timeout_seconds,
    retry_delay_seconds, retry_multiplier, created_by, queued_at, chain_depth
  )
  select
    x.id, p_tenant, p_definition_id, p_definition_version, v_lane, v_source, p_source_ref, v_priority, x.payload, v_tags,
    v_metadata,
    p_correlation_id, p_parent_job_id, p_retried_from_id, v_due, p_expires_at, v_attempts, v_timeout,
    v_delay, v_multiplier, p_created_by, v_now, v_depth
  from rows from (pg_catalog.unnest(v_ids), pg_catalog.jsonb_array_elements(p_payloads)) as x (id, payload);
  insert into app.live_jobs (
    job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at, run_no, lease_no, attempts_spent,
    reclaims, timeouts, progress, progress_message
  )
  select
    x.id, p_tenant, v_lane, 'queued', v_ready, v_sort, v_priority, v_due, p_expires_at, v_run, v_lease, v_none,
    v_none, v_none, v_percent, v_message
  from pg_catalog.unnest(v_ids) x (id);
  insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
  values (p_tenant, p_definition_id, v_now, 'queued', v_count);

  new_ids := v_ids;
  ready := v_ready;
  lane_no := v_lane;
  queued_at := v_now;
  scheduled_for := v_due;
  priority := v_priority;
  max_attempts := v_attempts;
  timeout_seconds := v_timeout;
end
$$;
revoke all on function app.enqueue_alike(
  uuid, uuid, integer, text, text, text, integer, jsonb, text[], jsonb, text, uuid, uuid, timestamptz, timestamptz, integer,
  integer, double precision, double precision, uuid
) from public;
grant execute on function app.enqueue_alike(
  uuid, uuid, integer, text, text, text, integer, jsonb, text[], jsonb, text, uuid, uuid, timestamptz, timestamptz, integer,
  integer, double precision, double precision, uuid
) to leasehold_web, leasehold_worker;

-- Enqueues a batch for one tenant, with its dependencies, all or nothing.
--   p_kinds    values that items share, each sent and looked up once: {definition_id, definition_version, queue,
--              priority, max_attempts, timeout_seconds}
--   p_items    the jobs; `kind` is a position in p_kinds, from 0. Defaults are not sent.
--   p_parents  jobs outside the batch for which items wait
-- An edge in `depends_on` names its parent by a number: the position of an item, from 1, or after the last item the
-- position in p_parents. `awaited` is set on items that have dependents in the batch. `rank` gives the order of ids if
-- it is not that of the items.
--
-- An item whose dedupe key is taken makes no job: its answer names the holder, with `deduplicated` and in `conflict`
-- what was done to the holder (app.meet_duplicate). If an earlier item of the batch took the key, the answer has that
-- job's values. A job that waits for such an item waits for the holder.
--
-- Returns one row for all jobs that differ only in their ids: their positions from 1 and, in the same order, their ids.
-- The answer is final: parents are locked before the jobs are written, so the function knows which of them have ended,
-- decides their edges at once, and releases or ends the jobs concerned. Only then, or if a dedupe key was taken, is the
-- answer read from the tables.
--
-- Raises LH004 if a parent is not a job of the tenant. Live rows of parents and of holders are locked in the order of
-- their ids, as all actions on many jobs do, so that they cannot deadlock. Large values are left out of what
-- app.find_duplicates reads, because PostgreSQL 18 copies a large value again for each jsonb that is built around it.
create or replace function app.enqueue_jobs(p_tenant uuid, p_kinds jsonb, p_items jsonb, p_parents uuid[])
returns table (
  places integer[],
  job_ids uuid[],
  deduplicated boolean,
  conflict text,
  state text,
  ready boolean,
  lane_no integer,
  queued_at timestamptz,
  scheduled_for timestamptz,
  priority integer,
  max_attempts integer,
  timeout_seconds integer
)
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_tenant text := set_config('app.current_tenant_id', p_tenant::text, true);
  v_now timestamptz := app.now();
  v_linked boolean := jsonb_path_exists(p_items, '$[*].depends_on');
  v_keyed boolean := jsonb_path_exists(p_items, '$[*].dedupe_key');
  v_definitions uuid[];
  v_versions integer[];
  v_lanes integer[];
  v_ranks integer[];
  v_attempts integer[];
  v_limits integer[];
  v_ids uuid[] := app.new_ids(jsonb_array_length(p_items));
  v_linkable uuid[];
  v_awaited uuid[] := '{}';
  v_keys jsonb;
  v_duplicates jsonb := '{}';
  v_parents uuid[] := array(select distinct p from unnest(p_parents) p);
  v_over uuid[] := '{}';
  v_is_new boolean;
  -- Values of the columns' own domains, checked once.
  v_run app.run_no := 1;
  v_lease app.lease_no := 0;
  v_none app.tally := 0;
  v_percent app.percent;
  v_message app.progress_message;
begin
  perform app.make_lane(p_tenant, s.definition_id, s.definition_version, s.queue, s.priority)
  from jsonb_to_recordset(p_kinds) as s (definition_id uuid, definition_version integer, queue text, priority integer)
  where not exists (
    select 1
    from app.job_definitions d
    join app.tenants t on t.id = p_tenant and t.status = 'active'
    join app.job_queues q on case when s.queue is null then q.id = d.queue_id else q.name = s.queue and q.is_active end
    join app.lanes l
      on l.tenant_id = p_tenant
      and l.queue_id = q.id
      and l.definition_id = d.id
      and l.band = app.band_of(coalesce(s.priority, q.default_priority))
    where d.id = s.definition_id
      and d.version = s.definition_version
      and d.is_active
  );

  -- Locks are taken in the order of ids, so the id of a job is greater than those of its parents.
  if p_items #> '{0,rank}' is not null then
    v_ids := array(
      select v_ids[(i ->> 'rank')::integer]
      from jsonb_array_elements(p_items) with ordinality e (i, n)
      order by n
    );
  end if;
  if v_keyed then
    select jsonb_agg(
      (p_kinds -> (i ->> 'kind')::integer)
        || (i - array['payload', 'metadata', 'tags', 'depends_on'])
        || jsonb_build_object('id', v_ids[n::integer], 'n', n)
        || case
          when i ->> 'dedupe_on_conflict' is distinct from 'replace_payload' then '{}'
          when jsonb_path_exists(i, '$.depends_on[*].bindings') then '{"depends_on": [{"bindings": true}]}'
          else jsonb_build_object('payload_text', (i -> 'payload')::text)
        end
      order by n
    )
    into v_keys
    from jsonb_array_elements(p_items) with ordinality e (i, n)
    where i ? 'dedupe_key';
    -- A holder whose payload or time changes is locked before the parents. An action on many jobs locks them by id, so all of
    -- them are locked here, by id as well.
    if v_linked then
      perform l.job_id
      from app.live_jobs l
      where l.tenant_id = p_tenant
        and l.job_id = any (
          v_parents || array(
            select d.job_id
            from app.dedupe_keys d
            where d.tenant_id = p_tenant
              and d.key = any (array(select i ->> 'dedupe_key' from jsonb_array_elements(v_keys) i))
          )
        )
      order by l.job_id
      for no key update;
    end if;
    v_duplicates := app.find_duplicates(p_tenant, v_keys);
  end if;
  if v_linked then
    v_linkable := v_ids || p_parents;
    -- A job that waits for an item whose key was taken waits for the holder.
    if v_duplicates <> '{}' then
      v_linkable := array(
        select coalesce((v_duplicates #>> array[u.n::text, 'job_id'])::uuid, u.id)
        from unnest(v_ids) with ordinality u (id, n)
        order by u.n
      ) || p_parents;
      v_awaited := array(
        select v_linkable[n]
        from jsonb_array_elements(p_items) with ordinality e (i, n)
        where i ? 'awaited'
          and v_duplicates ? n::text
      );
      v_parents := array(
        select p from unnest(v_parents || v_awaited) p
        except
        select u from unnest(v_ids) u
      );
    end if;
    if cardinality(v_parents) > 0 then
      v_over := app.hold_parents(p_tenant, v_parents);
    end if;
  end if;
  v_is_new := v_duplicates = '{}' and cardinality(v_over) = 0;

  -- Queues and definitions may have changed while this function waited for keys and parents.
  select
    array_agg(k.definition_id),
    array_agg(k.version),
    array_agg(k.lane_no),
    array_agg(k.rank),
    array_agg(k.attempts),
    array_agg(k.time_limit)
  into v_definitions, v_versions, v_lanes, v_ranks, v_attempts, v_limits
  from (
    select
      d.id as definition_id,
      d.version,
      l.lane_no,
      coalesce(x.priority, q.default_priority) as rank,
      coalesce(x.max_attempts, d.max_attempts, q.max_attempts, 3) as attempts,
      case
        when x.timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds
        else x.timeout_seconds
      end as time_limit
    from rows from (
      jsonb_to_recordset(p_kinds) as (
        definition_id uuid,
        definition_version integer,
        queue text,
        priority integer,
        max_attempts integer,
        timeout_seconds integer
      )
    ) with ordinality as x (definition_id, definition_version, queue, priority, max_attempts, timeout_seconds, n)
    join app.job_definitions d on d.id = x.definition_id and d.version = x.definition_version and d.is_active
    join app.tenants t on t.id = p_tenant and t.status = 'active'
    join app.job_queues q
      on q.id = case
        when x.queue is null then d.queue_id
        else (select y.id from app.job_queues y where y.name = x.queue and y.is_active)
      end
    join app.lanes l
      on l.tenant_id = p_tenant
      and l.queue_id = q.id
      and l.definition_id = d.id
      and l.band = app.band_of(coalesce(x.priority, q.default_priority))
    order by x.n
  ) k;
  if cardinality(v_lanes) is distinct from jsonb_array_length(p_kinds) then
    raise exception 'a queue or a definition changed' using errcode = 'LH002';
  end if;

  return query
  with item as materialized (
    select
      x.n::integer as place,
      x.kind + 1 as kind,
      v_ids[x.n::integer] as new_id,
      x.source,
      x.source_ref,
      x.payload,
      x.tags,
      x.metadata,
      x.correlation_id,
      x.parent_job_id,
      x.retried_from_id,
      x.dedupe_key,
      coalesce(x.scheduled_for, v_now) as due,
      x.expires_at,
      x.retry_delay_seconds,
      x.retry_multiplier,
      x.created_by,
      x.depends_on,
      x.chain_depth,
      x.awaited
    from rows from (
      jsonb_to_recordset(p_items) as (
        kind integer,
        source text,
        source_ref text,
        payload jsonb,
        tags jsonb,
        metadata jsonb,
        correlation_id text,
        parent_job_id uuid,
        retried_from_id uuid,
        dedupe_key text,
        scheduled_for timestamptz,
        expires_at timestamptz,
        retry_delay_seconds double precision,
        retry_multiplier double precision,
        created_by uuid,
        depends_on jsonb,
        chain_depth smallint,
        awaited boolean
      )
    ) with ordinality as x (
      kind, source, source_ref, payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key,
      scheduled_for, expires_at, retry_delay_seconds, retry_multiplier, created_by, depends_on, chain_depth, awaited, n
    )
    where v_duplicates = '{}' or not v_duplicates ? x.n::text
  ),
  record as (
    insert into app.jobs (
      id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority, payload, tags, metadata,
      correlation_id, parent_job_id, retried_from_id, dedupe_key, scheduled_for, expires_at, max_attempts, timeout_seconds,
      retry_delay_seconds, retry_multiplier, created_by, queued_at, chain_depth
    )
    select
      f.new_id,
      p_tenant,
      v_definitions[f.kind],
      v_versions[f.kind],
      v_lanes[f.kind],
      coalesce(f.source, 'manual'),
      f.source_ref,
      v_ranks[f.kind],
      coalesce(f.payload, 'null'::jsonb),
      case when f.tags is null then '{}' else array(select jsonb_array_elements_text(f.tags)) end,
      coalesce(f.metadata, '{}'::jsonb),
      f.correlation_id,
      f.parent_job_id,
      f.retried_from_id,
      f.dedupe_key,
      f.due,
      f.expires_at,
      v_attempts[f.kind],
      v_limits[f.kind],
      f.retry_delay_seconds,
      f.retry_multiplier,
      f.created_by,
      v_now,
      coalesce(f.chain_depth, 0)
    from item f
  ),
  live as (
    insert into app.live_jobs (
      job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at, has_dedupe_key, has_dependents,
      run_no, lease_no, attempts_spent, reclaims, timeouts, progress, progress_message
    )
    select
      f.new_id,
      p_tenant,
      v_lanes[f.kind],
      case when f.depends_on is null then 'queued' else 'blocked' end,
      f.due <= v_now and f.depends_on is null,
      app.sort_key_of(f.due, v_ranks[f.kind]),
      v_ranks[f.kind],
      f.due,
      f.expires_at,
      f.dedupe_key is not null,
      f.awaited is not null or f.new_id = any (v_awaited),
      v_run,
      v_lease,
      v_none,
      v_none,
      v_none,
      v_percent,
      v_message
    from item f
  ),
  delta as (
    insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
    select p_tenant, v_definitions[f.kind], v_now, 'queued', count(*)
    from item f
    group by v_definitions[f.kind]
  ),
  edge as (
    insert into app.job_dependencies (child_id, edge_no, tenant_id, parent_id, alias, type, condition, on_failure, bindings)
    -- Defaults are not sent.
    select
      e.child_id,
      coalesce((e.d -> 'edge_no')::smallint, 1::smallint),
      p_tenant,
      v_linkable[(e.d -> 'parent')::integer],
      e.d ->> 'alias',
      coalesce(e.d ->> 'type', 'success'),
      e.d -> 'condition',
      coalesce(e.d ->> 'on_failure', 'cancel'),
      e.d -> 'bindings'
    from (
      select f.new_id as child_id, jsonb_path_query(f.depends_on, '$[*]') as d
      from item f
      where v_linked
        and f.depends_on is not null
    ) e
  )
  select
    array_agg(f.place),
    array_agg(f.new_id),
    false,
    null::text,
    case when f.depends_on is null then 'queued' else 'blocked' end,
    f.due <= v_now and f.depends_on is null,
    v_lanes[f.kind],
    v_now,
    f.due,
    v_ranks[f.kind],
    v_attempts[f.kind],
    v_limits[f.kind]
  from item f
  where v_is_new
  group by f.kind, f.due, f.depends_on is null;
  if v_is_new then
    return;
  end if;

  -- Releases or ends the jobs that wait for nothing that is still to come.
  if cardinality(v_over) > 0 then
    perform app.release_dependents(v_over);
  end if;
  return query
  select
    array_agg(u.n::integer),
    array_agg(h.id),
    h.holder is not null,
    h.holder ->> 'conflict',
    coalesce(h.holder ->> 'state', l.state, o.outcome),
    coalesce((h.holder -> 'ready')::boolean, l.ready, false),
    coalesce((h.holder -> 'lane_no')::integer, j.lane_no),
    coalesce((h.holder ->> 'queued_at')::timestamptz, j.queued_at),
    coalesce((h.holder ->> 'scheduled_for')::timestamptz, l.scheduled_for, j.scheduled_for),
    j.priority::integer,
    j.max_attempts::integer,
    j.timeout_seconds::integer
  from unnest(v_ids) with ordinality u (id, n)
  cross join lateral (
    select
      v_duplicates -> u.n::text as holder,
      coalesce((v_duplicates #>> array[u.n::text, 'job_id'])::uuid, u.id) as id
  ) h
  left join app.jobs j on j.id = h.id and j.tenant_id = p_tenant
  left join app.live_jobs l on l.job_id = h.id and l.tenant_id = p_tenant
  left join lateral (
    select x.outcome
    from app.job_attempts x
    where l.job_id is null
      and x.job_id = h.id
      and x.tenant_id = p_tenant
      and x.outcome is not null
      and not x.superseded
    order by x.attempt_no desc
    limit 1
  ) o on true
  group by 3, 4, 5, 6, 7, 8, 9, 10, 11, 12;
end
$$;
revoke all on function app.enqueue_jobs(uuid, jsonb, jsonb, uuid[]) from public;
grant execute on function app.enqueue_jobs(uuid, jsonb, jsonb, uuid[]) to leasehold_web, leasehold_worker, leasehold_scheduler;
