-- Pauses, and limits on running jobs and on the rate of starts. Start with app.reserve_slots.

-- True if jobs of this queue, definition and tenant may not begin now. A pause that has ended does not count. Each kind
-- of pause is looked up by its index, because a suspension is a pause too and an installation may have many suspended
-- tenants.
create or replace function app.is_paused(p_queue integer, p_definition uuid, p_tenant uuid)
returns boolean
language sql stable parallel safe
as $$
  select
    exists (
      select 1
      from app.pauses p
      where p.tenant_id = p_tenant
        and (p.paused_until is null or p.paused_until > app.now())
    )
    or exists (
      select 1
      from app.pauses p
      where p.queue_id = p_queue
        and (p.paused_until is null or p.paused_until > app.now())
    )
    or exists (
      select 1
      from app.pauses p
      where p.definition_id = p_definition
        and (p.paused_until is null or p.paused_until > app.now())
    )
    or exists (
      select 1
      from app.pauses p
      where p.scope = 'all'
        and (p.paused_until is null or p.paused_until > app.now())
    )
$$;
revoke all on function app.is_paused(integer, uuid, uuid) from public;
grant execute on function app.is_paused(integer, uuid, uuid) to leasehold_web, leasehold_worker;

-- Returns the limits on jobs of this queue, definition and tenant. A limit of a tenant scope without a tenant applies
-- to each tenant separately; a tenant's own limit replaces it. Row security shows web its own tenant's limits and the
-- common ones; a limit that the caller cannot see is not returned.
create or replace function app.limits_on(p_queue integer, p_definition uuid, p_tenant uuid)
returns setof app.concurrency_limits
language sql stable parallel safe
as $$
  select c.*
  from app.concurrency_limits c
  where c.tenant_id is null
    and c.scope = 'queue'
    and c.queue_id = p_queue
    and c.definition_id is null
  union all
  select c.*
  from app.concurrency_limits c
  where c.tenant_id is null
    and c.scope = 'definition'
    and c.queue_id is null
    and c.definition_id = p_definition
  union all
  (
    select c.*
    from app.concurrency_limits c
    where (c.tenant_id = p_tenant or c.tenant_id is null)
      and c.scope = 'tenant_queue'
      and c.queue_id = p_queue
      and c.definition_id is null
    order by c.tenant_id is null
    limit 1
  )
  union all
  (
    select c.*
    from app.concurrency_limits c
    where (c.tenant_id = p_tenant or c.tenant_id is null)
      and c.scope = 'tenant_definition'
      and c.queue_id is null
      and c.definition_id = p_definition
    order by c.tenant_id is null
    limit 1
  )
$$;
revoke all on function app.limits_on(integer, uuid, uuid) from public;
grant execute on function app.limits_on(integer, uuid, uuid) to leasehold_web, leasehold_worker, leasehold_platform;

-- True if there is any limit on jobs of this queue, definition and tenant. The claim statement inlines the same
-- condition (lib/queue/claim/claim-jobs.sql.ts), because a call costs several times as much.
create or replace function app.is_limited(p_queue integer, p_definition uuid, p_tenant uuid)
returns boolean
language sql stable parallel safe
as $$
  select exists (
    select 1
    from app.concurrency_limits c
    where (c.tenant_id is null or c.tenant_id = p_tenant)
      and (c.queue_id = p_queue or c.definition_id = p_definition)
  )
$$;
revoke all on function app.is_limited(integer, uuid, uuid) from public;
grant execute on function app.is_limited(integer, uuid, uuid) to leasehold_worker;

-- Reserves slots for claims in lanes with limits, and never exceeds a limit. A claim from such lanes has two steps, so
-- that claimers under one limit wait for each other only while they count. First, this function reserves slots under
-- the limits' locks, in a transaction that writes next to nothing and does not wait for the disk. Then the reserved
-- number of jobs is claimed, without a lock that another claimer needs. A reservation counts as running until the
-- transaction that claims for it replaces it by the jobs.
--   p_lanes, p_limits, p_from  lanes in the order of their turns; per lane, the maximum slots and the first sort key
--   p_total                    maximum slots in all
-- Returns a row for each lane that got slots, and a row without a reservation for each lane whose ready jobs were
-- limited. limited_by_kind is the kind of limit, 'running' or 'rate', or 'busy' if other claimers held the limit's lock
-- for too long. retry_in_ms is when to try again; NULL: when a job under the limit ends.
--
-- The limit rows are locked first, in id order. Everything that is counted is read by later statements, each of which
-- sees what was committed before the locks were granted. So two claimers under one limit run one after the other, and a
-- settle in between only frees slots. A reservation that is not used for five seconds is dropped; one in use is locked,
-- and never dropped. The instant of the claims is read after the count, so no counted end of a lease is later. A job
-- that has expired gets no slot.
--
-- A gate is the room that a limit leaves: one for running jobs and one for starts, and one of each per tenant if the
-- limit applies to each tenant.
--
-- While the leader keeps a mark in app.running_mark, the count reads the jobs in the mark and those claimed since.
create or replace function app.reserve_slots(
  p_lanes integer[],
  p_limits integer[],
  p_total integer,
  p_from double precision[]
)
returns table (lane_no integer, reservation bigint, limited_by_kind text, retry_in_ms integer)
language plpgsql
set search_path = pg_catalog, app
set lock_timeout = '50ms'
as $$
#variable_conflict use_column
declare
  v_locked integer[];
  v_counts boolean; -- true if any of the locked limits is on what runs
  v_queues integer[]; -- in these four arrays: what runs, by lane
  v_definitions uuid[];
  v_tenants uuid[];
  v_running bigint[];
  v_now timestamptz;
  v_mark timestamptz;
  v_known uuid[];
  v_left integer := p_total;
  v_row record;
  v_gates text[] := '{}'; -- the gates met so far, and of each:
  v_room integer[]; -- how many jobs may still be claimed through it
  v_tokens double precision[]; -- the starts left before this claim; NULL for what runs
  v_rates double precision[];
  v_limits integer[];
  v_for uuid[];
  v_gate integer;
  v_own integer[] := '{}'; -- the gates of the current lane
  v_blocker integer;
  v_allowed integer;
  v_got integer;
  v_ready integer;
  v_held jsonb := '{}';
begin
  -- Only a crash could lose this commit, and a crash loses the reservations as well.
  perform set_config('synchronous_commit', 'off', true);
  begin
    select
      coalesce(array_agg(l.id), '{}'),
      coalesce(bool_or(l.max_running is not null), false)
    into v_locked, v_counts
    from (
      select c.id, c.max_running
      from app.concurrency_limits c
      where c.id = any (
        array(
          select g.id
          from unnest(p_lanes) u (lane)
          join app.lanes n on n.lane_no = u.lane
          cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) g
        )
      )
      order by c.id
      for update
    ) l;
  exception when lock_not_available then
    return query
    select u.lane, null::bigint, 'busy', 10 + (random() * 40)::integer
    from unnest(p_lanes) u (lane);
    return;
  end;

  if exists (
    select 1
    from app.claim_reservations o
    where o.made_at not between clock_timestamp() - interval '5 s' and clock_timestamp() + interval '5 s'
  ) then
    delete from app.claim_reservations r
    where r.ctid = any (
      array(
        select o.ctid
        from app.claim_reservations o
        where o.made_at not between clock_timestamp() - interval '5 s' and clock_timestamp() + interval '5 s'
        for update skip locked
      )
    );
  end if;

  if v_counts then
    select m.at, m.jobs into v_mark, v_known from app.running_mark m;
    if v_mark > app.now() + (clock_timestamp() - now()) then
      -- The clock was set back: jobs claimed from now on would count as claimed before the mark.
      delete from app.running_mark;
      v_mark := null;
    end if;
    if v_mark is null then
      v_mark := '-infinity';
      v_known := '{}';
    end if;
    select
      array_agg(n.queue_id),
      array_agg(n.definition_id),
      array_agg(n.tenant_id),
      array_agg(r.k)
    into v_queues, v_definitions, v_tenants, v_running
    from (
      select lane_no, count(*) as k
      from (
        select l.lane_no
        from app.live_jobs l
        where l.claimed_at >= v_mark
        union all
        select l.lane_no
        from unnest(v_known) u (id)
        cross join lateral (
          select x.lane_no
          from app.live_jobs x
          where x.job_id = u.id
            and x.claimed_at < v_mark
          offset 0
        ) l
      ) c
      group by lane_no
      union all
      select lane_no, sum(n)
      from app.claim_reservations
      group by lane_no
    ) r
    join app.lanes n on n.lane_no = r.lane_no;
  end if;

  for v_row in
    select
      u.turn,
      u.lane,
      u.n,
      u.low,
      c.id,
      c.tenant,
      c.queue_id,
      c.definition_id,
      c.max_running,
      c.starts_per_second,
      c.burst,
      b.tokens,
      b.refilled_at,
      lead(u.turn) over (order by u.turn) is distinct from u.turn as is_last
    from unnest(p_lanes, p_limits, p_from) with ordinality u (lane, n, low, turn)
    join app.lanes n on n.lane_no = u.lane
    left join lateral (
      select x.*, case when x.scope like 'tenant%' then n.tenant_id end as tenant
      from app.limits_on(n.queue_id, n.definition_id, n.tenant_id) x
    ) c on true
    left join app.rate_buckets b
      on c.starts_per_second is not null
      and b.limit_id = c.id
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
        -- A limit that was made after the locks were taken has no room yet.
        v_room[v_gate] := case
          when v_row.id = any (v_locked) then greatest(
            0,
            v_row.max_running - (
              select coalesce(sum(x.k), 0)
              from unnest(v_queues, v_definitions, v_tenants, v_running) x (queue, definition, tenant, k)
              where (v_row.tenant is null or x.tenant = v_row.tenant)
                and (v_row.queue_id is null or x.queue = v_row.queue_id)
                and (v_row.definition_id is null or x.definition = v_row.definition_id)
            )
          )
          else 0
        end;
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
        v_tokens[v_gate] := case
          when not v_row.id = any (v_locked) then 0
          else least(
            v_row.burst,
            coalesce(
              v_row.tokens + v_row.starts_per_second * greatest(0, extract(epoch from v_now - v_row.refilled_at)),
              v_row.burst
            )
          )
        end;
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
    v_ready := (
      select count(*)
      from (
        select 1
        from app.live_jobs l
        where l.lane_no = v_row.lane
          and l.ready
          and l.sort_key >= v_row.low
          and (l.expires_at is null or l.expires_at > v_now)
        limit least(v_row.n, v_left)
      ) x
    );
    v_got := least(v_allowed, v_ready);
    lane_no := v_row.lane;
    if v_got > 0 then
      insert into app.claim_reservations (lane_no, n, reserved_at)
      values (v_row.lane, v_got, v_now)
      returning id into reservation;
      limited_by_kind := null;
      retry_in_ms := null;
      return next;
      v_left := v_left - v_got;
      foreach v_gate in array v_own loop
        v_room[v_gate] := v_room[v_gate] - v_got;
      end loop;
    end if;
    if v_blocker is not null and v_ready > v_got then
      reservation := null;
      limited_by_kind := case when v_tokens[v_blocker] is null then 'running' else 'rate' end;
      v_held := v_held || jsonb_build_object(v_limits[v_blocker], limited_by_kind);
      retry_in_ms := case
        when limited_by_kind = 'rate' then
          least(60000, ceil(1000 * (1 - v_tokens[v_blocker]::numeric % 1) / v_rates[v_blocker]::numeric))::integer
      end;
      return next;
    end if;
    v_own := '{}';
  end loop;

  if array_remove(v_rates, null) <> '{}' then
    -- A transaction that gives starts back holds the bucket until its commit is on disk.
    perform set_config('lock_timeout', '5s', true);
    insert into app.rate_buckets as b (limit_id, tenant_id, tokens, refilled_at)
    select g.limit_id, g.tenant_id, g.tokens - (floor(g.tokens) - g.room), v_now
    from unnest(v_limits, v_for, v_tokens, v_room) g (limit_id, tenant_id, tokens, room)
    where g.room < floor(g.tokens)
    on conflict on constraint rate_buckets_one_for_each do update
    set
      tokens = excluded.tokens,
      refilled_at = greatest(b.refilled_at, excluded.refilled_at);
  end if;
  if v_held <> '{}'::jsonb then
    update app.concurrency_limits c
    set
      limited_at = v_now,
      limited_by = v_held ->> c.id::text
    where c.id = any (v_locked)
      and v_held ? c.id::text
      and (c.limited_at is null or c.limited_at < v_now - interval '1 second' or c.limited_at > v_now);
  end if;
end
$$;
revoke all on function app.reserve_slots(integer[], integer[], integer, double precision[]) from public;
grant execute on function app.reserve_slots(integer[], integer[], integer, double precision[]) to leasehold_worker;

-- Returns the latest instant before which every claim in a lane with a limit has committed or still has its
-- reservation; NULL if there is no limit. Claimers under limits hold the limits' locks from before they read the clock
-- until their reservations are committed, so no claimer is in between once all limits are locked here. A claim in a
-- lane without limits has ten seconds to commit, in case the lane gets a limit.
create or replace function app.running_mark_floor()
returns timestamptz
language plpgsql
set search_path = pg_catalog, app
as $$
begin
  perform c.id
  from app.concurrency_limits c
  order by c.id
  for update;
  if not found then
    return null;
  end if;
  return least(
    app.now() + (clock_timestamp() - now()) - interval '10 s',
    (select min(r.reserved_at) from app.claim_reservations r)
  );
end
$$;
revoke all on function app.running_mark_floor() from public;
grant execute on function app.running_mark_floor() to leasehold_scheduler;
