-- Enqueue is one round trip: one function sets the tenant for its transaction and inserts everything, under the
-- caller's own rights and policies (security invoker). BEGIN + set_config + insert + COMMIT reaches half its rate.

-- Priority to band: critical, high, normal, low, background (0-4).
create function app.band_of(priority integer) returns smallint
  language sql immutable parallel safe
  as $$ select (case when priority <= 25 then 0 when priority <= 50 then 1 when priority <= 150 then 2
                     when priority <= 200 then 3 else 4 end)::smallint $$;

-- Aging without writes: ten minutes of waiting are worth one point of priority.
create function app.sort_key_of(scheduled_for timestamptz, priority integer) returns double precision
  language sql immutable parallel safe
  as $$ select extract(epoch from scheduled_for)::double precision / 600 + priority $$;

-- Takes dedupe keys for new jobs and answers who holds each key now. A key is free when no row has it, or when its
-- job is finished and its window is over. INSERT … ON CONFLICT waits for a concurrent holder to commit or roll back,
-- so the answer always names a job that exists. Keys are taken in order, so that two callers cannot deadlock.
create function app.take_dedupe_keys(p_tenant uuid, p_keys text[], p_jobs uuid[], p_until timestamptz[])
  returns table (key text, job_id uuid)
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare r record; holder uuid;
  begin
    for r in select u.k, u.j, u.t from unnest(p_keys, p_jobs, p_until) with ordinality u (k, j, t, n)
             order by u.k collate "C", u.n loop
      insert into app.dedupe_keys as d (tenant_id, key, job_id, live, held_until)
        values (p_tenant, r.k, r.j, true, r.t)
        on conflict on constraint dedupe_keys_pkey do update set job_id = excluded.job_id, live = true, held_until = excluded.held_until
          where not d.live and (d.held_until is null or d.held_until <= app.now())
        returning d.job_id into holder;
      if not found then
        select d.job_id into holder from app.dedupe_keys d where d.tenant_id = p_tenant and d.key = r.k;
      end if;
      key := r.k; job_id := holder;
      return next;
    end loop;
  end $$;

-- Enqueues a batch for one tenant, all or nothing, and answers one row for each item in the items' order.
-- An item whose dedupe key is taken makes no job: its row names the holder and says deduplicated.
-- Raises LH001 (tenant missing or suspended) and LH002 (a definition changed or was switched off since the caller
-- read it: the caller reads it again, validates again and retries).
create function app.enqueue_jobs(p_tenant uuid, p_items jsonb)
  returns table (ordinal integer, job_id uuid, deduplicated boolean, state text, ready boolean, lane_no integer,
                 queued_at timestamptz, scheduled_for timestamptz)
  language plpgsql set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  declare
    v_now timestamptz := app.now();
    v_duplicates jsonb := '{}'::jsonb;
  begin
    perform set_config('app.current_tenant_id', p_tenant::text, true);
    if not exists (select 1 from app.tenants t where t.id = p_tenant and t.status = 'active') then
      raise exception 'tenant is missing or suspended' using errcode = 'LH001';
    end if;
    if exists (
      select 1 from (select distinct (i ->> 'definition_id')::uuid as id, (i ->> 'definition_version')::integer as version
                     from jsonb_array_elements(p_items) i) w
      left join app.job_definitions d on d.id = w.id and d.version = w.version and d.is_active
      where d.id is null) then
      raise exception 'a definition changed or is not active' using errcode = 'LH002';
    end if;

    insert into app.lanes (tenant_id, queue_id, definition_id, band)
      select distinct p_tenant, (i ->> 'queue_id')::integer, (i ->> 'definition_id')::uuid,
             app.band_of((i ->> 'priority')::integer)
      from jsonb_array_elements(p_items) i
      where not exists (select 1 from app.lanes l where l.tenant_id = p_tenant
        and l.queue_id = (i ->> 'queue_id')::integer and l.definition_id = (i ->> 'definition_id')::uuid
        and l.band = app.band_of((i ->> 'priority')::integer))
      on conflict do nothing;

    p_items := (select jsonb_agg(i || jsonb_build_object('id', coalesce(i ->> 'id', app.new_id()::text), 'n', n) order by n)
                from jsonb_array_elements(p_items) with ordinality e (i, n));

    if jsonb_path_exists(p_items, '$[*].dedupe_key') then
      select coalesce(jsonb_object_agg(i ->> 'n', k.job_id), '{}'::jsonb) into v_duplicates
      from app.take_dedupe_keys(p_tenant,
          (select array_agg(i ->> 'dedupe_key' order by n) from jsonb_array_elements(p_items) with ordinality e (i, n) where i ? 'dedupe_key'),
          (select array_agg((i ->> 'id')::uuid order by n) from jsonb_array_elements(p_items) with ordinality e (i, n) where i ? 'dedupe_key'),
          (select array_agg(case i ->> 'dedupe_mode' when 'retained' then 'infinity'::timestamptz
                                 when 'window' then v_now + make_interval(secs => (i ->> 'dedupe_window_seconds')::double precision) end order by n)
             from jsonb_array_elements(p_items) with ordinality e (i, n) where i ? 'dedupe_key')) k
      join jsonb_array_elements(p_items) i on i ->> 'dedupe_key' = k.key
      where k.job_id <> (i ->> 'id')::uuid;
    end if;

    return query
    with item as materialized (
      select x.*, l.lane_no as lane, coalesce(x.scheduled_for, v_now) as due, v_duplicates ->> x.n::text as duplicate_of
      from jsonb_to_recordset(p_items) as x (n integer, id uuid, definition_id uuid, definition_version integer,
        queue_id integer, source text, source_ref text, priority integer, payload jsonb, tags jsonb, metadata jsonb,
        correlation_id text, parent_job_id uuid, retried_from_id uuid, dedupe_key text, scheduled_for timestamptz,
        expires_at timestamptz, max_attempts integer, timeout_seconds integer, retry_delay_seconds double precision,
        retry_multiplier double precision, created_by uuid, depends_on jsonb)
      join app.lanes l on l.tenant_id = p_tenant and l.queue_id = x.queue_id and l.definition_id = x.definition_id
        and l.band = app.band_of(x.priority)
    ), fresh as materialized (
      select * from item where duplicate_of is null
    ), record as (
      insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
        payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, dedupe_key, scheduled_for, expires_at,
        max_attempts, timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at)
      select f.id, p_tenant, f.definition_id, f.definition_version, f.lane, coalesce(f.source, 'manual'), f.source_ref, f.priority,
        coalesce(f.payload, 'null'::jsonb), coalesce((select array_agg(t) from jsonb_array_elements_text(f.tags) t), '{}'),
        coalesce(f.metadata, '{}'::jsonb), f.correlation_id, f.parent_job_id, f.retried_from_id, f.dedupe_key, f.due,
        f.expires_at, f.max_attempts, f.timeout_seconds, f.retry_delay_seconds, f.retry_multiplier, f.created_by, v_now
      from fresh f
    ), live as (
      insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at,
        has_dedupe_key)
      select f.id, p_tenant, f.lane, case when f.depends_on is null then 'queued' else 'blocked' end,
        f.due <= v_now and f.depends_on is null, app.sort_key_of(f.due, f.priority), f.priority, f.due,
        f.expires_at, f.dedupe_key is not null
      from fresh f
    ), delta as (
      insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      select p_tenant, f.definition_id, v_now, 'queued', count(*) from fresh f group by f.definition_id
    )
    select i.n, coalesce(i.duplicate_of::uuid, i.id), i.duplicate_of is not null,
      case when i.depends_on is null then 'queued' else 'blocked' end, i.due <= v_now and i.depends_on is null, i.lane,
      v_now, i.due
    from item i order by i.n;

    -- A job that waits for others is inserted blocked. Whether it still is when the transaction ends, the caller reads.
    -- Who waits for an item whose dedupe key was taken waits for the holder.
    if jsonb_path_exists(p_items, '$[*].depends_on') then
      perform app.link_dependencies(p_tenant, (
        select jsonb_agg(e || jsonb_build_object('child_id', i ->> 'id', 'parent_id', coalesce(h.holder, e ->> 'parent_id')))
        from jsonb_array_elements(p_items) i cross join jsonb_array_elements(i -> 'depends_on') e
        left join (select d ->> 'id' as id, v_duplicates ->> (d ->> 'n') as holder
                   from jsonb_array_elements(p_items) d where v_duplicates ? (d ->> 'n')) h on h.id = e ->> 'parent_id'
        where not v_duplicates ? (i ->> 'n')));
    end if;
  end $$;

-- The rest of what a database user of ours may call; nothing is left to PUBLIC.
revoke all on all functions in schema app from public;
grant execute on function app.now(), app.new_id(), app.id_floor(timestamptz), app.current_tenant(),
  app.band_of(integer), app.sort_key_of(timestamptz, integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;
grant execute on function app.enqueue_jobs(uuid, jsonb), app.take_dedupe_keys(uuid, text[], uuid[], timestamptz[])
  to leasehold_web;
