-- Enqueue is one round trip: one function sets the tenant for its transaction and inserts everything, under the
-- caller's own rights and policies (security invoker). BEGIN + set_config + insert + COMMIT reaches half its rate.

-- Priority to band: critical, high, normal, low, background (0-4).
create function app.band_of(priority integer) returns smallint
  language sql immutable parallel safe
  as $$ select (case when priority <= 25 then 0 when priority <= 50 then 1 when priority <= 150 then 2
                     when priority <= 200 then 3 else 4 end)::smallint $$;

-- Aging without writes: ten minutes of waiting are worth one point of priority. Stable, as extract is, so that the planner
-- may put the expression in place of the call.
create function app.sort_key_of(scheduled_for timestamptz, priority integer) returns double precision
  language sql stable parallel safe
  as $$ select extract(epoch from scheduled_for)::double precision / 600 + priority $$;

-- Takes dedupe keys for new jobs and answers who holds each key now. A key is free when no row has it, or when its
-- job is finished and its window is over. The INSERT waits for a concurrent one to commit or roll back, so the answer
-- always names a job that exists. Keys are taken in order, so that two callers cannot deadlock; the row of a key that
-- somebody holds is not locked, since who ends a job has its live row first and its key second.
create function app.take_dedupe_keys(p_tenant uuid, p_keys text[], p_jobs uuid[], p_until timestamptz[])
  returns table (key text, job_id uuid)
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare r record; holder uuid;
  begin
    for r in select u.k, u.j, u.t from unnest(p_keys, p_jobs, p_until) with ordinality u (k, j, t, n)
             order by u.k collate "C", u.n loop
      holder := null;
      while holder is null loop
        insert into app.dedupe_keys (tenant_id, key, job_id, live, held_until) values (p_tenant, r.k, r.j, true, r.t)
          on conflict on constraint dedupe_keys_pkey do nothing;
        if found then
          holder := r.j;
        else
          update app.dedupe_keys d set job_id = r.j, live = true, held_until = r.t
            where d.tenant_id = p_tenant and d.key = r.k and not d.live and (d.held_until is null or d.held_until <= app.now());
          if found then
            holder := r.j;
          else
            select d.job_id into holder from app.dedupe_keys d where d.tenant_id = p_tenant and d.key = r.k;
          end if;
        end if;
      end loop;
      key := r.k; job_id := holder;
      return next;
    end loop;
  end $$;

-- The lane of (tenant, queue, definition, band), made when it is new. Raises what is wrong with what a job was asked for:
-- LH001 (tenant missing or suspended), LH002 (the definition changed or was switched off since the caller read it: it
-- reads it again, validates again and retries), LH003 (no active queue of this name).
create function app.make_lane(p_tenant uuid, p_definition uuid, p_version integer, p_queue text, p_priority integer)
  returns integer
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare v_queue integer; v_band smallint; v_lane integer;
  begin
    if not exists (select 1 from app.tenants t where t.id = p_tenant and t.status = 'active') then
      raise exception 'tenant is missing or suspended' using errcode = 'LH001';
    end if;
    select case when p_queue is null then d.queue_id else q.id end, app.band_of(coalesce(p_priority, own.default_priority))
      into v_queue, v_band
      from app.job_definitions d
      left join app.job_queues q on q.name = p_queue and q.is_active
      left join app.job_queues own on own.id = case when p_queue is null then d.queue_id else q.id end
      where d.id = p_definition and d.version = p_version and d.is_active;
    if not found then
      raise exception 'a definition changed or is not active' using errcode = 'LH002';
    end if;
    if v_queue is null then
      raise exception 'there is no active queue of this name' using errcode = 'LH003';
    end if;
    insert into app.lanes (tenant_id, queue_id, definition_id, band) values (p_tenant, v_queue, p_definition, v_band)
      on conflict do nothing returning lane_no into v_lane;
    if v_lane is null then
      select l.lane_no into v_lane from app.lanes l where l.tenant_id = p_tenant and l.queue_id = v_queue
        and l.definition_id = p_definition and l.band = v_band;
    end if;
    return v_lane;
  end $$;

-- Enqueues one job that has no dedupe key and waits for no other job: the same as a batch of one, in half its time.
-- What the job leaves open its definition says, then its queue.
create function app.enqueue_job(p_tenant uuid, p_definition uuid, p_version integer, p_queue text, p_source text,
    p_source_ref text, p_priority integer, p_payload jsonb, p_tags text[], p_metadata jsonb, p_correlation_id text,
    p_parent_job_id uuid, p_retried_from_id uuid, p_scheduled_for timestamptz, p_expires_at timestamptz,
    p_max_attempts integer, p_timeout_seconds integer, p_retry_delay_seconds double precision,
    p_retry_multiplier double precision, p_created_by uuid)
  returns table (ordinal integer, job_id uuid, deduplicated boolean, conflict text, state text, ready boolean,
                 lane_no integer, queued_at timestamptz, scheduled_for timestamptz, priority integer,
                 max_attempts integer, timeout_seconds integer)
  language plpgsql set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  declare
    v_now timestamptz := app.now();
    v_due timestamptz := coalesce(p_scheduled_for, v_now);
    v_id uuid := app.new_id();
    v_lane integer; v_priority integer; v_attempts integer; v_timeout integer;
  begin
    perform set_config('app.current_tenant_id', p_tenant::text, true);
    for i in 1 .. 2 loop
      select l.lane_no, coalesce(p_priority, q.default_priority), coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
          case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
        into v_lane, v_priority, v_attempts, v_timeout
        from app.job_definitions d
        join app.tenants t on t.id = p_tenant and t.status = 'active'
        join app.job_queues q on case when p_queue is null then q.id = d.queue_id else q.name = p_queue and q.is_active end
        join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = d.id
          and l.band = app.band_of(coalesce(p_priority, q.default_priority))
        where d.id = p_definition and d.version = p_version and d.is_active;
      exit when v_lane is not null;
      perform app.make_lane(p_tenant, p_definition, p_version, p_queue, p_priority);
    end loop;
    with record as (
      insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
        payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, scheduled_for, expires_at, max_attempts,
        timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at)
      values (v_id, p_tenant, p_definition, p_version, v_lane, p_source, p_source_ref, v_priority, p_payload,
        coalesce(p_tags, '{}'), coalesce(p_metadata, '{}'), p_correlation_id, p_parent_job_id, p_retried_from_id, v_due,
        p_expires_at, v_attempts, v_timeout, p_retry_delay_seconds, p_retry_multiplier, p_created_by, v_now)
    ), live as (
      insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at)
      values (v_id, p_tenant, v_lane, 'queued', v_due <= v_now, app.sort_key_of(v_due, v_priority), v_priority, v_due,
        p_expires_at)
    )
    insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      values (p_tenant, p_definition, v_now, 'queued', 1);
    return query select 1, v_id, false, null::text, 'queued', v_due <= v_now, v_lane, v_now, v_due, v_priority, v_attempts, v_timeout;
  end $$;

-- What a taken dedupe key does to the job that holds it, as far as no worker has it: another payload (with the version
-- of the definition that it was checked against), or another time. Answers where the holder stands and in `conflict` what
-- was done: replaced, rescheduled, or returned when it was left as it is, because it runs, has ended, is of another
-- definition, or would be moved past its end. A payload that takes in results of other jobs neither replaces nor is
-- replaced: its places were worked out for its own parents. NULL: the holder has ended just now and its key is free.
create function app.meet_duplicate(p_tenant uuid, p_holder uuid, p_item jsonb) returns jsonb
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_mode text := coalesce(p_item ->> 'dedupe_on_conflict', 'return');
    v_due timestamptz := coalesce((p_item ->> 'scheduled_for')::timestamptz, app.now());
    v_live app.live_jobs; v_done text := 'returned'; v_queued timestamptz; v_outcome text;
  begin
    if v_mode = 'return' then
      select l.* into v_live from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = p_holder;
    else
      select l.* into v_live from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = p_holder for no key update;
    end if;
    if v_live.job_id is null and not exists (select 1 from app.dedupe_keys d where d.tenant_id = p_tenant
        and d.key = p_item ->> 'dedupe_key' and d.job_id = p_holder) then
      return null;
    end if;
    if v_live.state <> 'running' and v_mode = 'replace_payload' and not jsonb_path_exists(p_item, '$.depends_on[*].bindings')
        and not exists (select 1 from app.job_dependencies d where d.child_id = p_holder and d.bindings is not null) then
      update app.jobs j set payload = p_item -> 'payload', definition_version = (p_item ->> 'definition_version')::integer
        where j.id = p_holder and j.tenant_id = p_tenant and j.definition_id = (p_item ->> 'definition_id')::uuid;
      if found then
        v_done := 'replaced';
        -- A claim that began before would read the payload as it was then: it skips what is not ready any more, and the
        -- next promotion makes the job ready again.
        update app.live_jobs l set ready = false where l.job_id = p_holder and l.tenant_id = p_tenant and l.ready;
        v_live.ready := false;
      end if;
    elsif v_live.state <> 'running' and v_mode = 'reschedule' and coalesce(v_live.expires_at > v_due, true) then
      update app.jobs j set scheduled_for = v_due where j.id = p_holder and j.tenant_id = p_tenant;
      v_done := 'rescheduled'; v_live.scheduled_for := v_due; v_live.ready := v_live.state = 'queued' and v_due <= app.now();
      update app.live_jobs l set scheduled_for = v_due, sort_key = app.sort_key_of(v_due, l.priority), ready = v_live.ready
        where l.job_id = p_holder and l.tenant_id = p_tenant;
    end if;
    if v_done <> 'returned' then
      insert into app.job_audit (tenant_id, job_id, actor_kind, actor_id, action, from_status, to_status, request_id)
        values (p_tenant, p_holder, p_item #>> '{actor,kind}', (p_item #>> '{actor,id}')::uuid, 'dedupe_' || v_done,
          v_live.state, v_live.state, p_item #>> '{actor,request_id}');
    end if;
    select j.queued_at, coalesce(v_live.scheduled_for, j.scheduled_for), coalesce(v_live.lane_no, j.lane_no)
      into v_queued, v_live.scheduled_for, v_live.lane_no from app.jobs j where j.id = p_holder and j.tenant_id = p_tenant;
    if v_live.job_id is null then select o.outcome into v_outcome from app.outcomes_of(array[p_holder]) o; end if;
    return jsonb_build_object('job_id', p_holder, 'conflict', v_done, 'state', coalesce(v_live.state, v_outcome), 'ready',
      coalesce(v_live.ready, false), 'lane_no', v_live.lane_no, 'queued_at', v_queued, 'scheduled_for', v_live.scheduled_for);
  end $$;

-- For those of the items {n, id, dedupe_key, …} that make no job because their key is held: where the holder stands, by n.
create function app.find_duplicates(p_tenant uuid, p_items jsonb) returns jsonb
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_ids uuid[] := array(select (i ->> 'id')::uuid from jsonb_array_elements(p_items) i);
    v_open jsonb := p_items; v_free jsonb; v_answer jsonb := '{}'; v_holder jsonb; r record;
  begin
    while v_open is not null loop
      v_free := null;
      for r in
        with item as materialized (
          select i, row_number() over (order by i ->> 'dedupe_key' collate "C", (i -> 'n')::integer) as m
          from jsonb_array_elements(v_open) i
        )
        select item.i, k.job_id as holder
        from (select array_agg(i ->> 'dedupe_key' order by m) as keys, array_agg((i ->> 'id')::uuid order by m) as ids,
                array_agg(case i ->> 'dedupe_mode' when 'retained' then 'infinity'::timestamptz when 'window' then
                  app.now() + make_interval(secs => (i ->> 'dedupe_window_seconds')::double precision) end order by m) as until
              from item) a
        cross join lateral app.take_dedupe_keys(p_tenant, a.keys, a.ids, a.until) with ordinality k (key, job_id, m)
        join item on item.m = k.m
        where k.job_id <> (item.i ->> 'id')::uuid
        order by k.job_id, k.m
      loop
        -- The holder may be an item of this batch, which is not inserted yet.
        v_holder := case when r.holder = any (v_ids) then jsonb_build_object('job_id', r.holder, 'conflict', 'returned')
          else app.meet_duplicate(p_tenant, r.holder, r.i) end;
        if v_holder is null then
          v_free := coalesce(v_free, '[]') || r.i;
        else
          v_answer := v_answer || jsonb_build_object(r.i ->> 'n', v_holder);
        end if;
      end loop;
      v_open := v_free;
    end loop;
    return v_answer;
  end $$;

-- Enqueues a batch for one tenant, all or nothing, and answers one row for each item in the items' order. What many items
-- share is sent and looked up once: an item names its kind by place, {definition_id, definition_version, queue, priority,
-- max_attempts, timeout_seconds}.
-- An item whose dedupe key is taken makes no job: its row names the holder and says deduplicated, and what was done to
-- the holder. Raises LH001, LH002 and LH003 as app.make_lane does.
create function app.enqueue_jobs(p_tenant uuid, p_kinds jsonb, p_items jsonb)
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
        retry_multiplier double precision, created_by uuid, depends_on jsonb)) with ordinality
        as x (kind, id, source, source_ref, payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key,
          scheduled_for, expires_at, retry_delay_seconds, retry_multiplier, created_by, depends_on, n)
      join kind k on k.kind = x.kind
    ), fresh as materialized (
      select * from item where holder is null
    ), record as (
      insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
        payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key, scheduled_for, expires_at,
        max_attempts, timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at)
      select f.new_id, p_tenant, f.definition_id, f.definition_version, f.lane, coalesce(f.source, 'manual'), f.source_ref, f.rank,
        coalesce(f.payload, 'null'::jsonb),
        case when f.tags is null then '{}' else array(select jsonb_array_elements_text(f.tags)) end,
        coalesce(f.metadata, '{}'::jsonb), f.correlation_id, f.parent_job_id, f.retried_from_id, f.dedupe_key, f.due,
        f.expires_at, f.attempts, f.time_limit, f.retry_delay_seconds, f.retry_multiplier, f.created_by, v_now
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

-- The rest of what a database user of ours may call; nothing is left to PUBLIC.
revoke all on all functions in schema app from public;
grant execute on function app.now(), app.new_id(), app.id_floor(timestamptz), app.current_tenant(),
  app.band_of(integer), app.sort_key_of(timestamptz, integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;
grant execute on function app.enqueue_jobs(uuid, jsonb, jsonb), app.take_dedupe_keys(uuid, text[], uuid[], timestamptz[]),
  app.make_lane(uuid, uuid, integer, text, integer), app.meet_duplicate(uuid, uuid, jsonb),
  app.find_duplicates(uuid, jsonb),
  app.enqueue_job(uuid, uuid, integer, text, text, text, integer, jsonb, text[], jsonb, text, uuid, uuid, timestamptz,
    timestamptz, integer, integer, double precision, double precision, uuid)
  to leasehold_web, leasehold_worker;
-- What a conflict over a dedupe key may change of the holder.
grant update (payload, definition_version, scheduled_for) on app.jobs to leasehold_web, leasehold_worker;
-- A worker enqueues the children of a job, which may meet a duplicate too; what it did to it is written down.
grant insert on app.job_audit to leasehold_worker;
create policy worker_writes on app.job_audit for insert to leasehold_worker with check (true);
