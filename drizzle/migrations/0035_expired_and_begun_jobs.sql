-- A job that has expired is not claimed, also in the second before the sweep ends it. So no place is reserved for it either.

-- As before but for what is expired. The limit rows are locked first, in id order; whatever is counted comes in later statements, each of which sees
-- all that was committed before the locks were granted. So two claimers under one limit come one after the other, and a
-- settle in between only makes room. A reservation that its maker has in use just now is locked, and never dropped.
-- The instant of the claims is taken after the count: no counted end of a lease is later than it.
-- A gate is what a limit lets through: one for what runs and one for starts, and of each one for every tenant where the
-- limit is for each.
-- Answers a row for each lane that got places, and a row without a reservation for each lane whose ready jobs a limit held
-- back: held_back says which kind ('busy': another claimer had the limit for too long), retry_in_ms when to come back
-- (NULL: when a job under the limit ends).
create or replace function app.reserve_places(p_lanes integer[], p_limits integer[], p_total integer, p_from double precision[])
  returns table (lane_no integer, reservation bigint, held_back text, retry_in_ms integer)
  language plpgsql set search_path = pg_catalog, app set lock_timeout = '50ms'
  as $$
  #variable_conflict use_column
  declare
    v_locked integer[];
    v_counts boolean;            -- whether any of the locked limits is on what runs
    v_queues integer[]; v_definitions uuid[]; v_tenants uuid[]; v_running bigint[];  -- what runs, by lane
    v_now timestamptz;
    v_left integer := p_total;
    v_row record;
    v_gates text[] := '{}';      -- those met so far, and of each:
    v_room integer[];            -- how many may still be claimed through it
    v_tokens double precision[]; -- the starts that are left before this claim; NULL for what runs
    v_rates double precision[];
    v_limits integer[]; v_for uuid[];
    v_gate integer;
    v_own integer[] := '{}';     -- the gates of the lane at hand
    v_blocker integer;
    v_allowed integer; v_got integer; v_ready integer;
    v_held jsonb := '{}';
  begin
    -- Nothing but a crash could lose it, and a crash loses the reservations too.
    perform set_config('synchronous_commit', 'off', true);
    begin
      select coalesce(array_agg(l.id), '{}'), coalesce(bool_or(l.max_running is not null), false) into v_locked, v_counts from (
        select c.id, c.max_running from app.concurrency_limits c
        where c.id = any (array(
          select g.id from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
          cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) g))
        order by c.id for update) l;
    exception when lock_not_available then
      return query select u.lane, null::bigint, 'busy', 10 + (random() * 40)::integer
        from unnest(p_lanes) u (lane);
      return;
    end;

    if exists (select 1 from app.claim_reservations o where o.made_at not between clock_timestamp() - interval '5 s'
        and clock_timestamp() + interval '5 s') then
      delete from app.claim_reservations r where r.ctid = any (array(
        select o.ctid from app.claim_reservations o where o.made_at not between clock_timestamp() - interval '5 s'
          and clock_timestamp() + interval '5 s' for update skip locked));
    end if;

    if v_counts then
      select array_agg(n.queue_id), array_agg(n.definition_id), array_agg(n.tenant_id), array_agg(r.k)
        into v_queues, v_definitions, v_tenants, v_running
      from (select lane_no, count(*) as k from app.live_jobs where state = 'running' group by lane_no
        union all select lane_no, sum(n) from app.claim_reservations group by lane_no) r
      join app.lanes n on n.lane_no = r.lane_no;
    end if;

    for v_row in
      select u.turn, u.lane, u.n, u.low, c.id, c.tenant, c.queue_id, c.definition_id, c.max_running, c.starts_per_second,
        c.burst, b.tokens, b.refilled_at, lead(u.turn) over (order by u.turn) is distinct from u.turn as is_last
      from unnest(p_lanes, p_limits, p_from) with ordinality u (lane, n, low, turn)
      join app.lanes n on n.lane_no = u.lane
      left join lateral (
        select x.*, case when x.scope like 'tenant%' then n.tenant_id end as tenant
        from app.limits_on(n.queue_id, n.definition_id, n.tenant_id) x) c on true
      left join app.start_buckets b on c.starts_per_second is not null and b.limit_id = c.id
        and b.tenant_id is not distinct from c.tenant
      where not (select exists (select 1 from app.pauses where paused_until is null or paused_until > app.now()))
        or not app.is_paused(n.queue_id, n.definition_id, n.tenant_id)
      order by u.turn
    loop
      exit when v_left <= 0;
      if v_now is null then
        v_now := app.now() + (clock_timestamp() - now());
      end if;
      if v_row.max_running is not null then
        v_gate := array_position(v_gates, concat('r', v_row.id, v_row.tenant));
        if v_gate is null then
          v_gates := v_gates || concat('r', v_row.id, v_row.tenant);
          v_gate := cardinality(v_gates);
          v_limits[v_gate] := v_row.id;
          v_for[v_gate] := v_row.tenant;
          v_rates[v_gate] := null;
          v_tokens[v_gate] := null;
          -- A limit that came after the locks has no room yet.
          v_room[v_gate] := case when v_row.id = any (v_locked) then greatest(0, v_row.max_running - (
            select coalesce(sum(x.k), 0) from unnest(v_queues, v_definitions, v_tenants, v_running) x (queue, definition, tenant, k)
            where (v_row.tenant is null or x.tenant = v_row.tenant) and (v_row.queue_id is null or x.queue = v_row.queue_id)
              and (v_row.definition_id is null or x.definition = v_row.definition_id))) else 0 end;
        end if;
        v_own := v_own || v_gate;
      end if;
      if v_row.starts_per_second is not null then
        v_gate := array_position(v_gates, concat('s', v_row.id, v_row.tenant));
        if v_gate is null then
          v_gates := v_gates || concat('s', v_row.id, v_row.tenant);
          v_gate := cardinality(v_gates);
          v_limits[v_gate] := v_row.id;
          v_for[v_gate] := v_row.tenant;
          v_rates[v_gate] := v_row.starts_per_second;
          v_tokens[v_gate] := case when not v_row.id = any (v_locked) then 0 else least(v_row.burst, coalesce(v_row.tokens
            + v_row.starts_per_second * greatest(0, extract(epoch from v_now - v_row.refilled_at)), v_row.burst)) end;
          v_room[v_gate] := floor(v_tokens[v_gate]);
        end if;
        v_own := v_own || v_gate;
      end if;
      continue when not v_row.is_last;

      v_allowed := least(v_row.n, v_left);
      v_blocker := null;
      foreach v_gate in array v_own loop
        if v_room[v_gate] < v_allowed then
          v_allowed := v_room[v_gate];
          v_blocker := v_gate;
        end if;
      end loop;
      v_ready := (select count(*) from (
        select 1 from app.live_jobs l where l.lane_no = v_row.lane and l.ready and l.sort_key >= v_row.low
          and (l.expires_at is null or l.expires_at > v_now)
        limit least(v_row.n, v_left)) x);
      v_got := least(v_allowed, v_ready);
      lane_no := v_row.lane;
      if v_got > 0 then
        insert into app.claim_reservations (lane_no, n, reserved_at) values (v_row.lane, v_got, v_now)
          returning id into reservation;
        held_back := null;
        retry_in_ms := null;
        return next;
        v_left := v_left - v_got;
        foreach v_gate in array v_own loop
          v_room[v_gate] := v_room[v_gate] - v_got;
        end loop;
      end if;
      if v_blocker is not null and v_ready > v_got then
        reservation := null;
        held_back := case when v_tokens[v_blocker] is null then 'running' else 'starts' end;
        v_held := v_held || jsonb_build_object(v_limits[v_blocker], held_back);
        retry_in_ms := case when held_back = 'starts' then
          least(60000, ceil(1000 * (1 - v_tokens[v_blocker]::numeric % 1) / v_rates[v_blocker]::numeric))::integer end;
        return next;
      end if;
      v_own := '{}';
    end loop;

    if array_remove(v_rates, null) <> '{}' then
      -- Who gives starts back holds them until its commit is on the disk.
      perform set_config('lock_timeout', '5s', true);
      insert into app.start_buckets as b (limit_id, tenant_id, tokens, refilled_at)
        select g.limit_id, g.tenant_id, g.tokens - (floor(g.tokens) - g.room), v_now
        from unnest(v_limits, v_for, v_tokens, v_room) g (limit_id, tenant_id, tokens, room)
        where g.room < floor(g.tokens)
        on conflict on constraint start_buckets_one_for_each do update
          set tokens = excluded.tokens, refilled_at = greatest(b.refilled_at, excluded.refilled_at);
    end if;
    if v_held <> '{}'::jsonb then
      update app.concurrency_limits c set held_back_at = v_now, held_back_by = v_held ->> c.id::text
      where c.id = any (v_locked) and v_held ? c.id::text
        and (c.held_back_at is null or c.held_back_at < v_now - interval '1 second' or c.held_back_at > v_now);
    end if;
  end $$;

-- A payload is not replaced once an attempt of the run has begun: steps that it stored and the idempotency key of the run
-- would pass for work on the new payload.
create or replace function app.meet_duplicate(p_tenant uuid, p_holder uuid, p_item jsonb) returns jsonb
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
    if v_live.state <> 'running' and v_live.started_at is null and v_mode = 'replace_payload' and not jsonb_path_exists(p_item, '$.depends_on[*].bindings')
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
