-- Dedupe keys: which job holds a key, and what a new job with the same key does to the holder. Start with
-- app.take_dedupe_keys.

-- Takes dedupe keys for new jobs and returns the holder of each key. p_until is when a key becomes free after its job
-- has ended; NULL: as soon as the job has ended. A key is free if no row has it, or if its job has ended and its window
-- has passed. The INSERT waits until a concurrent INSERT of the same key commits or rolls back, so the returned holder
-- always exists. Keys are taken in sorted order (collation C, then the order given), so that two callers cannot
-- deadlock; rows are returned in that order. The row of a held key is not locked, because the end of a job locks its
-- live row first and its key second.
create or replace function app.take_dedupe_keys(
  p_tenant uuid,
  p_keys text[],
  p_jobs uuid[],
  p_until timestamptz[]
)
returns table (key text, job_id uuid)
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  r record;
  holder uuid;
begin
  for r in
    select u.k, u.j, u.t
    from unnest(p_keys, p_jobs, p_until) with ordinality u (k, j, t, n)
    order by u.k collate "C", u.n
  loop
    holder := null;
    while holder is null loop
      insert into app.dedupe_keys (tenant_id, key, job_id, live, held_until)
      values (p_tenant, r.k, r.j, true, r.t)
      on conflict on constraint dedupe_keys_pkey do nothing;
      if found then
        holder := r.j;
      else
        update app.dedupe_keys d
        set job_id = r.j, live = true, held_until = r.t
        where d.tenant_id = p_tenant
          and d.key = r.k
          and not d.live
          and (d.held_until is null or d.held_until <= app.now());
        if found then
          holder := r.j;
        else
          select d.job_id
          into holder
          from app.dedupe_keys d
          where d.tenant_id = p_tenant
            and d.key = r.k;
        end if;
      end if;
    end loop;
    key := r.k;
    job_id := holder;
    return next;
  end loop;
end
$$;
revoke all on function app.take_dedupe_keys(uuid, text[], uuid[], timestamptz[]) from public;
grant execute on function app.take_dedupe_keys(uuid, text[], uuid[], timestamptz[])
  to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Applies a new item to the job that holds its dedupe key, as the item's dedupe_on_conflict says, and returns the state
-- of the holder. `conflict` in the answer is what was done to the holder:
--   replaced     It has the item's payload, and the definition version against which that payload was checked.
--   rescheduled  It has the item's time.
--   returned     It is unchanged.
-- A holder that is running or has ended is unchanged. A payload is not replaced once an attempt of the run has begun,
-- because the steps that it stored and the run's idempotency key would count for the new payload. Nor is it replaced in
-- a job of another definition. A payload with placeholders for results neither replaces nor is replaced, because its
-- places were computed for its own parents. A holder is not rescheduled past its expiry. An item with the payload or
-- the time that the holder already has gets the same answer, but leaves no audit entry. The item has its payload as
-- JSON text (payload_text), and only if it may replace the holder's. Returns NULL if the holder has just ended and its
-- key is free.
create or replace function app.meet_duplicate(p_tenant uuid, p_holder uuid, p_item jsonb)
returns jsonb
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_payload jsonb := coalesce((p_item ->> 'payload_text')::jsonb, p_item -> 'payload');
  v_mode text := coalesce(p_item ->> 'dedupe_on_conflict', 'return');
  v_due timestamptz := coalesce((p_item ->> 'scheduled_for')::timestamptz, app.now());
  v_live app.live_jobs;
  v_done text := 'returned';
  v_changed boolean := false;
  v_queued timestamptz;
  v_outcome text;
begin
  if v_mode = 'return' then
    select l.*
    into v_live
    from app.live_jobs l
    where l.tenant_id = p_tenant
      and l.job_id = p_holder;
  else
    select l.*
    into v_live
    from app.live_jobs l
    where l.tenant_id = p_tenant
      and l.job_id = p_holder
    for no key update;
  end if;
  if v_live.job_id is null and not exists (
    select 1
    from app.dedupe_keys d
    where d.tenant_id = p_tenant
      and d.key = p_item ->> 'dedupe_key'
      and d.job_id = p_holder
  ) then
    return null;
  end if;

  if v_live.state <> 'running'
    and v_live.started_at is null
    and v_mode = 'replace_payload'
    and not jsonb_path_exists(p_item, '$.depends_on[*].bindings')
    and not exists (
      select 1
      from app.job_dependencies d
      where d.child_id = p_holder
        and d.bindings is not null
    )
  then
    select
      j.payload is distinct from v_payload
        or j.definition_version is distinct from (p_item ->> 'definition_version')::integer
    into v_changed
    from app.jobs j
    where j.id = p_holder
      and j.tenant_id = p_tenant;
    update app.jobs j
    set
      payload = v_payload,
      definition_version = (p_item ->> 'definition_version')::integer
    where j.id = p_holder
      and j.tenant_id = p_tenant
      and j.definition_id = (p_item ->> 'definition_id')::uuid;
    if found then
      v_done := 'replaced';
      -- A claim that began earlier would read the old payload. It skips a job that is not ready, and the next promotion makes
      -- the job ready again.
      update app.live_jobs l
      set ready = false
      where l.job_id = p_holder
        and l.tenant_id = p_tenant
        and l.ready;
      v_live.ready := false;
    end if;
  elsif v_live.state <> 'running' and v_mode = 'reschedule' and coalesce(v_live.expires_at > v_due, true) then
    v_changed := v_live.scheduled_for is distinct from v_due;
    update app.jobs j
    set scheduled_for = v_due
    where j.id = p_holder
      and j.tenant_id = p_tenant;
    v_done := 'rescheduled';
    v_live.scheduled_for := v_due;
    v_live.ready := v_live.state = 'queued' and v_due <= app.now();
    update app.live_jobs l
    set
      scheduled_for = v_due,
      sort_key = app.sort_key_of(v_due, l.priority),
      ready = v_live.ready
    where l.job_id = p_holder
      and l.tenant_id = p_tenant;
  end if;

  if v_done <> 'returned' and v_changed then
    insert into app.job_audit (tenant_id, job_id, actor_kind, actor_id, action, from_status, to_status, request_id)
    values (
      p_tenant, p_holder, p_item #>> '{actor,kind}', (p_item #>> '{actor,id}')::uuid, 'dedupe_' || v_done,
      v_live.state, v_live.state, p_item #>> '{actor,request_id}'
    );
  end if;
  select
    j.queued_at,
    coalesce(v_live.scheduled_for, j.scheduled_for),
    coalesce(v_live.lane_no, j.lane_no)
  into v_queued, v_live.scheduled_for, v_live.lane_no
  from app.jobs j
  where j.id = p_holder
    and j.tenant_id = p_tenant;
  if v_live.job_id is null then
    select o.outcome into v_outcome from app.outcomes_of(array[p_holder]) o;
  end if;
  return jsonb_build_object(
    'job_id', p_holder,
    'conflict', v_done,
    'state', coalesce(v_live.state, v_outcome),
    'ready', coalesce(v_live.ready, false),
    'lane_no', v_live.lane_no,
    'queued_at', v_queued,
    'scheduled_for', v_live.scheduled_for
  );
end
$$;
revoke all on function app.meet_duplicate(uuid, uuid, jsonb) from public;
grant execute on function app.meet_duplicate(uuid, uuid, jsonb)
  to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Takes the dedupe keys of the items {n, id, dedupe_key, …} of a batch. Returns, by n, the holder's state for each item
-- that makes no job because its key is held; see app.meet_duplicate. For a holder that is an item of the same batch,
-- the answer has only the id. A key whose holder ended meanwhile is taken in another turn.
create or replace function app.find_duplicates(p_tenant uuid, p_items jsonb)
returns jsonb
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_ids uuid[] := array(select (i ->> 'id')::uuid from jsonb_array_elements(p_items) i);
  v_open jsonb := p_items;
  v_free jsonb;
  v_answer jsonb := '{}';
  v_holder jsonb;
  r record;
begin
  while v_open is not null loop
    v_free := null;
    for r in
      with item as materialized (
        select
          i,
          row_number() over (order by i ->> 'dedupe_key' collate "C", (i -> 'n')::integer) as m
        from jsonb_array_elements(v_open) i
      )
      select item.i, k.job_id as holder
      from (
        select
          array_agg(i ->> 'dedupe_key' order by m) as keys,
          array_agg((i ->> 'id')::uuid order by m) as ids,
          array_agg(
            case i ->> 'dedupe_mode'
              when 'retained' then 'infinity'::timestamptz
              when 'window' then app.now() + make_interval(secs => (i ->> 'dedupe_window_seconds')::double precision)
            end
            order by m
          ) as until
        from item
      ) a
      cross join lateral app.take_dedupe_keys(p_tenant, a.keys, a.ids, a.until) with ordinality k (key, job_id, m)
      join item on item.m = k.m
      where k.job_id <> (item.i ->> 'id')::uuid
      order by k.job_id, k.m
    loop
      -- The holder may be an item of this batch, which is not inserted yet.
      v_holder := case
        when r.holder = any (v_ids) then jsonb_build_object('job_id', r.holder, 'conflict', 'returned')
        else app.meet_duplicate(p_tenant, r.holder, r.i)
      end;
      if v_holder is null then
        v_free := coalesce(v_free, '[]') || r.i;
      else
        v_answer := v_answer || jsonb_build_object(r.i ->> 'n', v_holder);
      end if;
    end loop;
    v_open := v_free;
  end loop;
  return v_answer;
end
$$;
revoke all on function app.find_duplicates(uuid, jsonb) from public;
grant execute on function app.find_duplicates(uuid, jsonb)
  to leasehold_web, leasehold_worker, leasehold_scheduler;
