-- Claims from lanes with limits in two steps, so that claimers under one limit wait for each other only while they count.
-- First places are reserved under the limits' locks, in a transaction that writes next to nothing and waits for no disk;
-- then the reserved number of jobs is claimed, without a lock that another claimer needs. A reservation counts as running
-- until the transaction that claims for it has put the jobs themselves in its place.

-- Places that are about to be claimed. Unlogged: a crash ends whoever made them, and they with it.
create unlogged table app.claim_reservations (
  id bigint generated always as identity primary key,
  lane_no integer not null,
  n integer not null check (n > 0),
  -- the instant of the claims
  reserved_at timestamptz not null,
  -- by the clock of the machine; one that nobody used for five seconds is dropped
  made_at timestamptz not null default clock_timestamp()
);
grant select, insert, delete on app.claim_reservations to leasehold_worker;
-- Nobody changes a row; who locks one must be allowed to.
grant update (n) on app.claim_reservations to leasehold_worker;

-- Reserves places, never one too many. The limit rows are locked first, in id order; whatever is counted comes in later
-- statements, each of which sees all that was committed before the locks were granted. So two claimers under one limit
-- come one after the other, and a settle in between only makes room. A reservation that its maker has in use just now
-- is locked, and never dropped.
-- The instant of the claims is taken after the count: no counted end of a lease is later than it.
-- Answers a row for each lane that got places, and a row without a reservation for each lane whose ready jobs a limit held
-- back: held_back says which kind ('busy': another claimer had the limit for too long), retry_in_ms when to come back
-- (NULL: when a job under the limit ends).
create function app.reserve_places(p_lanes integer[], p_limits integer[], p_total integer, p_from double precision[])
  returns table (lane_no integer, reservation bigint, held_back text, retry_in_ms integer)
  language plpgsql set search_path = pg_catalog, app set lock_timeout = '50ms'
  as $$
  #variable_conflict use_column
  declare
    v_locked integer[];
    v_room jsonb;       -- gate → how many may still be claimed through it
    v_tokens jsonb;     -- gate of starts → tokens before this claim
    v_now timestamptz;
    v_left integer := p_total;
    v_lane record;
    v_gate text;
    v_blocker text;
    v_allowed integer;
    v_got integer;
    v_ready integer;
    v_held jsonb := '{}'::jsonb;
  begin
    -- Nothing but a crash could lose it, and a crash loses the reservations too.
    perform set_config('synchronous_commit', 'off', true);
    begin
      select coalesce(array_agg(l.id), '{}') into v_locked from (
        select c.id from app.concurrency_limits c
        where c.id = any (array(
          select g.id from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
          cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) g))
        order by c.id for update) l;
    exception when lock_not_available then
      return query select u.lane, null::bigint, 'busy', 10 + (random() * 40)::integer
        from unnest(p_lanes) u (lane);
      return;
    end;

    delete from app.claim_reservations r where r.ctid = any (array(
      select o.ctid from app.claim_reservations o where o.made_at not between clock_timestamp() - interval '5 s'
        and clock_timestamp() + interval '5 s' for update skip locked));

    with gates as materialized (
      select distinct c.id, case when c.scope like 'tenant%' then n.tenant_id end as tenant, c.queue_id, c.definition_id,
        c.max_running
      from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
      cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c
      where c.id = any (v_locked) and c.max_running is not null
    ), running as materialized (
      select n.queue_id, n.definition_id, n.tenant_id, r.k
      from (select lane_no, count(*) as k from app.live_jobs where state = 'running' group by lane_no
        union all select lane_no, sum(n) from app.claim_reservations group by lane_no) r
      join app.lanes n on n.lane_no = r.lane_no
      where exists (select 1 from gates)
    )
    select coalesce(jsonb_object_agg(format('r:%s:%s', g.id, g.tenant), g.max_running - coalesce((
      select sum(x.k) from running x where (g.tenant is null or x.tenant_id = g.tenant)
        and (g.queue_id is null or x.queue_id = g.queue_id)
        and (g.definition_id is null or x.definition_id = g.definition_id)), 0)), '{}'::jsonb)
    into v_room from gates g;

    v_now := app.now() + (clock_timestamp() - now());

    select coalesce(jsonb_object_agg(format('s:%s:%s', g.id, g.tenant), least(g.burst, coalesce(
      b.tokens + g.starts_per_second * greatest(0, extract(epoch from v_now - b.refilled_at)), g.burst))), '{}'::jsonb)
    into v_tokens
    from (
      select distinct c.id, case when c.scope like 'tenant%' then n.tenant_id end as tenant, c.starts_per_second, c.burst
      from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
      cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c
      where c.id = any (v_locked) and c.starts_per_second is not null) g
    left join app.start_buckets b on b.limit_id = g.id and b.tenant_id is not distinct from g.tenant;
    v_room := v_room || (select coalesce(jsonb_object_agg(key, floor(value::double precision)), '{}'::jsonb)
                         from jsonb_each_text(v_tokens));

    for v_lane in
      select u.lane, u.n, u.low, array_agg(k.gate) filter (where k.gate is not null) as gates
      from unnest(p_lanes, p_limits, p_from) with ordinality u (lane, n, low, turn)
      join app.lanes n on n.lane_no = u.lane
      left join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c on true
      left join lateral (
        select format('r:%s:%s', c.id, case when c.scope like 'tenant%' then n.tenant_id end) where c.max_running is not null
        union all
        select format('s:%s:%s', c.id, case when c.scope like 'tenant%' then n.tenant_id end) where c.starts_per_second is not null
      ) k (gate) on true
      where not app.is_paused(n.queue_id, n.definition_id, n.tenant_id)
      group by u.turn, u.lane, u.n, u.low order by u.turn
    loop
      exit when v_left <= 0;
      v_allowed := least(v_lane.n, v_left);
      v_blocker := null;
      -- A limit that came after the locks has no room yet.
      foreach v_gate in array coalesce(v_lane.gates, '{}') loop
        if coalesce((v_room ->> v_gate)::integer, 0) < v_allowed then
          v_allowed := greatest(0, coalesce((v_room ->> v_gate)::integer, 0));
          v_blocker := v_gate;
        end if;
      end loop;
      v_ready := (select count(*) from (
        select 1 from app.live_jobs l where l.lane_no = v_lane.lane and l.ready and l.sort_key >= v_lane.low
        limit least(v_lane.n, v_left)) x);
      v_got := least(v_allowed, v_ready);
      if v_got > 0 then
        insert into app.claim_reservations (lane_no, n, reserved_at) values (v_lane.lane, v_got, v_now)
          returning id into reservation;
        lane_no := v_lane.lane;
        held_back := null;
        retry_in_ms := null;
        return next;
        v_left := v_left - v_got;
        foreach v_gate in array coalesce(v_lane.gates, '{}') loop
          v_room := jsonb_set(v_room, array[v_gate], to_jsonb((v_room ->> v_gate)::integer - v_got));
        end loop;
      end if;
      if v_blocker is not null and v_ready > v_got then
        v_held := v_held || jsonb_build_object(split_part(v_blocker, ':', 2), left(v_blocker, 1));
        lane_no := v_lane.lane;
        reservation := null;
        held_back := case left(v_blocker, 1) when 'r' then 'running' else 'starts' end;
        retry_in_ms := case when held_back = 'starts' then coalesce((
          select least(60000, ceil(1000 * (1 - (v_tokens ->> v_blocker)::numeric % 1) / c.starts_per_second))::integer
          from app.concurrency_limits c where c.id = split_part(v_blocker, ':', 2)::integer), 1000) end;
        return next;
      end if;
    end loop;

    insert into app.start_buckets as b (limit_id, tenant_id, tokens, refilled_at)
      select split_part(key, ':', 2)::integer, nullif(split_part(key, ':', 3), '')::uuid,
        value::double precision - (floor(value::double precision) - (v_room ->> key)::integer), v_now
      from jsonb_each_text(v_tokens) where (v_room ->> key)::integer < floor(value::double precision)
      on conflict on constraint start_buckets_one_for_each do update
        set tokens = excluded.tokens, refilled_at = greatest(b.refilled_at, excluded.refilled_at);
    if v_held <> '{}'::jsonb then
      update app.concurrency_limits c set held_back_at = v_now,
        held_back_by = case v_held ->> c.id::text when 'r' then 'running' else 'starts' end
      where c.id = any (v_locked) and v_held ? c.id::text
        and (c.held_back_at is null or c.held_back_at < v_now - interval '1 second' or c.held_back_at > v_now);
    end if;
  end $$;

drop function app.claim_limited(integer[], integer[], integer, text, integer[], double precision[]);
revoke all on function app.reserve_places(integer[], integer[], integer, double precision[]) from public;
grant execute on function app.reserve_places(integer[], integer[], integer, double precision[]) to leasehold_worker;
