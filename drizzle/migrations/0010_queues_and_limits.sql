-- Queues' own settings, pauses and exact limits.

-- What a queue says for jobs that come into it: a job's own value comes first, then its definition's, then the
-- queue's. NULL = the queue says nothing. version rises with every change, so that workers notice.
alter table app.job_queues
  add column default_priority integer not null default 100 check (default_priority between 1 and 1000),
  add column timeout_seconds integer check (timeout_seconds between 1 and 604800),
  add column max_attempts integer check (max_attempts between 1 and 100),
  add column retry_delay_seconds double precision check (retry_delay_seconds between 0 and 86400),
  add column retry_multiplier double precision check (retry_multiplier between 1 and 10),
  add column weight double precision not null default 1 check (weight between 0.01 and 1000),
  add column version integer not null default 1 check (version >= 1);
grant update (default_priority, timeout_seconds, max_attempts, retry_delay_seconds, retry_multiplier, weight, version)
  on app.job_queues to leasehold_platform;
insert into app.job_queues (name, description, timeout_seconds, max_attempts, retry_multiplier) values
  ('email-sending', 'Delivery of email campaigns', 3600, 3, 2),
  ('analytics-processing', 'Aggregation of analytics', 3600, 3, 2),
  ('content-archival', 'Clean-up of old content', 3600, 3, 2),
  ('infrastructure-monitoring', 'Health checks of systems', 3600, 3, 2),
  ('billing-sync', 'Synchronization with the payment provider', 3600, 3, 2),
  ('notification-delivery', 'Delivery of notifications to people', 3600, 3, 2);

-- A tenant's share of the workers, against the other tenants'.
alter table app.tenants add column weight double precision not null default 1 check (weight between 0.01 and 1000);
grant update (weight) on app.tenants to leasehold_platform;

-- What is not started for now. A pause whose end has passed is none: nobody has to take it away.
create table app.pauses (
  id uuid primary key default app.new_id(),
  scope text not null check (scope in ('all', 'queue', 'definition', 'tenant')),
  queue_id integer references app.job_queues (id) on delete cascade,
  definition_id uuid references app.job_definitions (id) on delete cascade,
  tenant_id uuid references app.tenants (id) on delete cascade,
  reason text not null check (char_length(reason) between 1 and 500),
  paused_at timestamptz not null default app.now(),
  paused_until timestamptz,
  paused_by uuid references app.users (id) on delete set null,
  constraint pauses_target check ((scope = 'queue') = (queue_id is not null)
    and (scope = 'definition') = (definition_id is not null) and (scope = 'tenant') = (tenant_id is not null)),
  constraint pauses_one_for_each unique nulls not distinct (tenant_id, scope, queue_id, definition_id)
);
call app.protect_tenant_table('app.pauses');
create policy web_reads_common on app.pauses for select to leasehold_web
  using (tenant_id is null and (select app.current_tenant()) is not null);
call app.open_to('app.pauses', 'leasehold_platform');
create policy worker_reads on app.pauses for select to leasehold_worker using (true);
grant select (id, scope, queue_id, definition_id, tenant_id, reason, paused_at, paused_until) on app.pauses to leasehold_web;
grant select on app.pauses to leasehold_worker;
grant select, insert, delete on app.pauses to leasehold_platform;
grant update (reason, paused_at, paused_until, paused_by) on app.pauses to leasehold_platform;

-- Whether jobs of this queue, definition and tenant may not be started just now.
create function app.is_paused(p_queue integer, p_definition uuid, p_tenant uuid) returns boolean
  language sql stable parallel safe
  as $$
    select exists (select 1 from app.pauses p where (p.paused_until is null or p.paused_until > app.now())
      and (p.scope = 'all' or p.queue_id = p_queue or p.definition_id = p_definition or p.tenant_id = p_tenant))
  $$;
revoke all on function app.is_paused(integer, uuid, uuid) from public;
grant execute on function app.is_paused(integer, uuid, uuid) to leasehold_web, leasehold_worker;

-- How many jobs may run at once, and how many may start in a time. A tenant scope without a tenant means each tenant
-- by itself; a tenant's own row takes the place of that one. held_back_* say when and why a claim last left ready jobs
-- where they are because of this limit.
create table app.concurrency_limits (
  id integer generated always as identity primary key,
  scope text not null check (scope in ('queue', 'definition', 'tenant_queue', 'tenant_definition')),
  queue_id integer references app.job_queues (id) on delete cascade,
  definition_id uuid references app.job_definitions (id) on delete cascade,
  tenant_id uuid references app.tenants (id) on delete cascade,
  max_running integer check (max_running between 0 and 1000000),
  starts_per_second double precision check (starts_per_second between 0.00001 and 1000000),
  burst integer check (burst between 1 and 1000000),
  held_back_at timestamptz,
  held_back_by text check (held_back_by in ('running', 'starts')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  constraint concurrency_limits_target check ((scope in ('queue', 'tenant_queue')) = (queue_id is not null)
    and (scope in ('definition', 'tenant_definition')) = (definition_id is not null)
    and (tenant_id is null or scope in ('tenant_queue', 'tenant_definition'))),
  constraint concurrency_limits_say_something check (max_running is not null or starts_per_second is not null),
  constraint concurrency_limits_rate check ((starts_per_second is null) = (burst is null)),
  constraint concurrency_limits_one_for_each unique nulls not distinct (tenant_id, scope, queue_id, definition_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.concurrency_limits');
create policy web_reads_common on app.concurrency_limits for select to leasehold_web
  using (tenant_id is null and (select app.current_tenant()) is not null);
call app.open_to('app.concurrency_limits', 'leasehold_platform');
call app.open_to('app.concurrency_limits', 'leasehold_worker');
grant select on app.concurrency_limits to leasehold_web, leasehold_worker;
grant update (held_back_at, held_back_by) on app.concurrency_limits to leasehold_worker;
grant select, insert, delete on app.concurrency_limits to leasehold_platform;
grant update (max_running, starts_per_second, burst, updated_at) on app.concurrency_limits to leasehold_platform;

-- Starts that are left, as of refilled_at. Logged, because a crash must not fill them. Changed only under the lock of
-- the limit's row, one for each tenant where the limit is for each.
create table app.start_buckets (
  limit_id integer not null,
  tenant_id uuid,
  tokens double precision not null,
  refilled_at timestamptz not null,
  constraint start_buckets_one_for_each unique nulls not distinct (tenant_id, limit_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.start_buckets');
call app.open_to('app.start_buckets', 'leasehold_worker');
call app.open_to('app.start_buckets', 'leasehold_platform');
grant select, insert, update (tokens, refilled_at) on app.start_buckets to leasehold_worker;
grant select, delete on app.start_buckets to leasehold_platform;
grant select on app.start_buckets to leasehold_web;

-- The limits that hold for jobs of this queue, definition and tenant. One that a caller does not see (row security
-- shows web its own tenant's and the common ones) does not concern it either.
create function app.limits_on(p_queue integer, p_definition uuid, p_tenant uuid) returns setof app.concurrency_limits
  language sql stable parallel safe
  as $$
    select c.* from app.concurrency_limits c
    where c.tenant_id is null and c.scope = 'queue' and c.queue_id = p_queue and c.definition_id is null
    union all
    select c.* from app.concurrency_limits c
    where c.tenant_id is null and c.scope = 'definition' and c.queue_id is null and c.definition_id = p_definition
    union all
    (select c.* from app.concurrency_limits c
     where (c.tenant_id = p_tenant or c.tenant_id is null) and c.scope = 'tenant_queue' and c.queue_id = p_queue
       and c.definition_id is null
     order by c.tenant_id is null limit 1)
    union all
    (select c.* from app.concurrency_limits c
     where (c.tenant_id = p_tenant or c.tenant_id is null) and c.scope = 'tenant_definition' and c.queue_id is null
       and c.definition_id = p_definition
     order by c.tenant_id is null limit 1)
  $$;

-- Whether any limit holds for them.
create function app.is_limited(p_queue integer, p_definition uuid, p_tenant uuid) returns boolean
  language sql stable parallel safe
  as $$
    select exists (select 1 from app.concurrency_limits c where (c.tenant_id is null or c.tenant_id = p_tenant)
      and (c.queue_id = p_queue or c.definition_id = p_definition))
  $$;

-- Claims from lanes that have limits, never one job too many. The limit rows are locked first, in id order; whatever
-- is counted comes in later statements, each of which sees all that was committed before the locks were granted. So
-- two claimers under one limit come one after the other, and a settle in between only makes room.
-- The instant of the claims is taken after the count: no counted end of a lease is later than it.
-- The answer has live row and record of each claimed job, which the statement that calls this could not see itself, and
-- a row without a job for each lane whose ready jobs a limit held back: held_back says which kind ('busy': another
-- claimer had the limit for too long), retry_in_ms when to come back (NULL: when a job under the limit ends).
create function app.claim_limited(p_lanes integer[], p_limits integer[], p_total integer, p_worker text,
    p_lease_seconds integer[], p_from double precision[])
  returns table (lane_no integer, live app.live_jobs, record app.jobs, held_back text, retry_in_ms integer)
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
    v_held jsonb := '{}'::jsonb;
  begin
    begin
      select coalesce(array_agg(l.id), '{}') into v_locked from (
        select c.id from app.concurrency_limits c
        where c.id = any (array(
          select g.id from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
          cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) g))
        order by c.id for update) l;
    exception when lock_not_available then
      return query select u.lane, null::app.live_jobs, null::app.jobs, 'busy', 10 + (random() * 40)::integer
        from unnest(p_lanes) u (lane);
      return;
    end;

    with gates as materialized (
      select distinct c.id, case when c.scope like 'tenant%' then n.tenant_id end as tenant, c.queue_id, c.definition_id,
        c.max_running
      from unnest(p_lanes) u (lane) join app.lanes n on n.lane_no = u.lane
      cross join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c
      where c.id = any (v_locked) and c.max_running is not null
    ), running as materialized (
      select n.queue_id, n.definition_id, n.tenant_id, r.k
      from (select lane_no, count(*) as k from app.live_jobs where state = 'running' group by lane_no) r
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
      select u.lane, u.n, u.lease, u.low, array_agg(k.gate) filter (where k.gate is not null) as gates
      from unnest(p_lanes, p_limits, p_lease_seconds, p_from) with ordinality u (lane, n, lease, low, turn)
      join app.lanes n on n.lane_no = u.lane
      left join lateral app.limits_on(n.queue_id, n.definition_id, n.tenant_id) c on true
      left join lateral (
        select format('r:%s:%s', c.id, case when c.scope like 'tenant%' then n.tenant_id end) where c.max_running is not null
        union all
        select format('s:%s:%s', c.id, case when c.scope like 'tenant%' then n.tenant_id end) where c.starts_per_second is not null
      ) k (gate) on true
      where not app.is_paused(n.queue_id, n.definition_id, n.tenant_id)
      group by u.turn, u.lane, u.n, u.lease, u.low order by u.turn
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
      v_got := 0;
      if v_allowed > 0 then
        return query
        with picked as materialized (
          select ctid as tid from app.live_jobs where lane_no = v_lane.lane and ready and sort_key >= v_lane.low
          order by sort_key limit v_allowed for update skip locked
        ), claimed as (
          update app.live_jobs r set state = 'running', ready = false, lease_no = r.lease_no + 1,
            claimed_by_worker = p_worker, claimed_at = v_now, attempt_started_at = null, progress = null,
            progress_message = null, lease_expires_at = v_now + make_interval(secs => v_lane.lease)
          where r.ctid = any (array(select tid from picked))
          returning r
        )
        select v_lane.lane, c.r, j.record, null::text, null::integer
        from claimed c cross join lateral (select j as record from app.jobs j where j.id = (c.r).job_id offset 0) j;
        get diagnostics v_got = row_count;
        v_left := v_left - v_got;
        foreach v_gate in array coalesce(v_lane.gates, '{}') loop
          v_room := jsonb_set(v_room, array[v_gate], to_jsonb((v_room ->> v_gate)::integer - v_got));
        end loop;
      end if;
      if v_blocker is not null and v_got = v_allowed
         and exists (select 1 from app.live_jobs where lane_no = v_lane.lane and ready) then
        v_held := v_held || jsonb_build_object(split_part(v_blocker, ':', 2), left(v_blocker, 1));
        lane_no := v_lane.lane;
        live := null;
        record := null;
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
revoke all on function app.limits_on(integer, uuid, uuid), app.is_limited(integer, uuid, uuid),
  app.claim_limited(integer[], integer[], integer, text, integer[], double precision[]) from public;
grant execute on function app.limits_on(integer, uuid, uuid) to leasehold_web, leasehold_worker, leasehold_platform;
grant execute on function app.is_limited(integer, uuid, uuid),
  app.claim_limited(integer[], integer[], integer, text, integer[], double precision[]) to leasehold_worker;

-- What each tenant's jobs of a queue have cost all workers together (a start is 1, a second of running another 1), so
-- that workers are fair together. A hint that may be lost, hence unlogged.
create unlogged table app.start_counts (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  queue_id integer not null references app.job_queues (id) on delete cascade,
  cost double precision not null,
  updated_at timestamptz not null,
  primary key (tenant_id, queue_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.start_counts');
call app.open_to('app.start_counts', 'leasehold_worker');
grant select, insert, update (cost, updated_at) on app.start_counts to leasehold_worker;
grant select on app.start_counts to leasehold_web;
