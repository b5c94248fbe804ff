-- Duplicates in a batch of jobs.

-- As before, but:
-- 1. An item whose dedupe key an earlier item of the same batch has taken is answered with the values of that job, not with
--    its own.
-- 2. A batch with dedupe keys and parents locks the live rows of both in the order of their ids, because cancel and all other
--    acts on many jobs do so. Before, the two could wait for each other.
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
    v_parents uuid[] := '{}';
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
    if v_keyed or (v_linked and jsonb_path_exists(p_items, '$[*] ? (!exists (@.id))')) then
      p_items := (select jsonb_agg(i || jsonb_build_object('id', coalesce(i ->> 'id', app.new_id()::text), 'n', n) order by n)
                  from jsonb_array_elements(p_items) with ordinality e (i, n));
    end if;
    if v_linked then
      v_parents := array(select distinct d.parent_id from jsonb_to_recordset(p_items) as x (depends_on jsonb)
        cross join jsonb_to_recordset(x.depends_on) as d (parent_id uuid));
    end if;
    -- A holder whose payload or time changes is locked before the parents, which an act on many jobs locks by their ids:
    -- so all of them are locked here, by their ids as well.
    if v_keyed and v_linked then
      perform l.job_id from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = any (v_parents || array(
        select d.job_id from app.dedupe_keys d where d.tenant_id = p_tenant and d.key = any (array(
          select i ->> 'dedupe_key' from jsonb_array_elements(p_items) i where i ? 'dedupe_key'))))
        order by l.job_id for no key update;
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
    ), own as materialized (
      -- Items that may hold a key which another item of this batch asks for.
      select f.new_id, f.due, f.lane, f.rank, f.attempts, f.time_limit, f.depends_on is null as is_free from fresh f
      where v_keyed and f.dedupe_key is not null
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
        has_dedupe_key, has_dependents)
      select f.new_id, p_tenant, f.lane, case when f.depends_on is null then 'queued' else 'blocked' end,
        f.due <= v_now and f.depends_on is null, app.sort_key_of(f.due, f.rank), f.rank, f.due,
        f.expires_at, f.dedupe_key is not null, v_linked and f.new_id in (select unnest(v_parents))
      from fresh f
    ), delta as (
      insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      select p_tenant, f.definition_id, v_now, 'queued', count(*) from fresh f group by f.definition_id
    )
    select i.place::integer, coalesce((i.holder ->> 'job_id')::uuid, i.new_id), i.holder is not null, i.holder ->> 'conflict',
      coalesce(i.holder ->> 'state', case when coalesce(o.is_free, i.depends_on is null) then 'queued' else 'blocked' end),
      coalesce((i.holder -> 'ready')::boolean, o.due <= v_now and o.is_free, i.due <= v_now and i.depends_on is null),
      coalesce((i.holder -> 'lane_no')::integer, o.lane, i.lane), coalesce((i.holder ->> 'queued_at')::timestamptz, v_now),
      coalesce((i.holder ->> 'scheduled_for')::timestamptz, o.due, i.due), coalesce(o.rank, i.rank),
      coalesce(o.attempts, i.attempts), case when o.new_id is null then i.time_limit else o.time_limit end
    from item i left join own o on o.new_id = (i.holder ->> 'job_id')::uuid
    order by i.place;
    -- A queue or definition that was changed since its lane was looked up leaves items without one.
    get diagnostics v_answered = row_count;
    if v_answered < jsonb_array_length(p_items) then
      raise exception 'a queue or a definition changed' using errcode = 'LH002';
    end if;

    -- A job that waits for others is inserted blocked. Whether it still is when the transaction ends, the caller reads.
    -- Who waits for an item whose dedupe key was taken waits for the holder.
    if v_linked then perform app.link_items(p_tenant, p_items, v_parents, v_duplicates); end if;
  end $$;
