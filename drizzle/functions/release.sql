-- Releasing dependents: what happens to the children of jobs that have ended. One call releases a bounded number of
-- children, so a job with fifty thousand children ends as quickly as any other. The rest is written to
-- app.release_backlog in the same transaction, and the leader processes it part by part. Children that another
-- transaction has locked go there too, so no call waits for them longer than a moment. Start with
-- app.release_dependents and app.release_children.

-- Ends blocked jobs that the caller has locked, as p_ends [{id, outcome, error_type, error_text}] says, and returns
-- them. They end without a lease, and otherwise as in the statements that end other jobs: with an attempt, the release
-- of their dedupe keys, statistics, and events for tenants with listeners. The instant of each end is read after its
-- live row was deleted.
create or replace function app.end_blocked(p_ends jsonb)
returns table (job_id uuid, lane_no integer, has_dependents boolean)
language plpgsql
set search_path = pg_catalog, app
as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select l.tid, x.outcome, x.error_type, x.error_text
    from jsonb_to_recordset(p_ends) as x (id uuid, outcome text, error_type text, error_text text)
    cross join lateral (
      select y.ctid as tid
      from app.live_jobs y
      where y.job_id = x.id
        and y.state = 'blocked'
      offset 0
    ) l
  ),
  ended as (
    delete from app.live_jobs l
    using asked x
    where l.ctid = x.tid
    returning l.*, x.outcome, x.error_type, x.error_text
  ),
  attempt as (
    insert into app.job_attempts (
      job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at, attempt_count, error_type, error_text
    )
    select
      e.job_id, e.lease_no + 1, e.tenant_id, e.run_no, e.outcome, app.clock(), e.outcome, e.started_at, e.attempts_spent,
      e.error_type, e.error_text
    from ended e
  ),
  freed as (
    delete from app.dedupe_keys k
    using ended e
    where e.has_dedupe_key
      and k.tenant_id = e.tenant_id
      and k.job_id = e.job_id
      and (k.held_until is null or k.held_until <= app.now())
  ),
  kept as (
    update app.dedupe_keys k
    set live = false
    from ended e
    where e.has_dedupe_key
      and k.tenant_id = e.tenant_id
      and k.job_id = e.job_id
      and k.held_until > app.now()
  ),
  counted as (
    insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
    select e.tenant_id, l.definition_id, app.now(), e.outcome, count(*)
    from ended e
    join app.lanes l on l.lane_no = e.lane_no
    group by 1, 2, 4
  ),
  published as (
    insert into app.events (tenant_id, name, data, source, caused_by_job_id, status)
    select
      e.tenant_id, 'job.' || e.outcome, jsonb_build_object('job_id', e.job_id, 'run_no', e.run_no), 'job', e.job_id, 'pending'
    from ended e
    join app.job_listeners k on k.tenant_id = e.tenant_id and 'job.' || e.outcome = any (k.event_names)
  )
  select e.job_id, e.lane_no, e.has_dependents
  from ended e;
end
$$;
revoke all on function app.end_blocked(jsonb) from public;
grant execute on function app.end_blocked(jsonb) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- For jobs that the caller has ended without a result: ends the jobs below them that end because of it, down the graph,
-- in one statement and up to p_limit edges. No job can begin to wait for a job whose row is locked. Children that were
-- enqueued before the lock are found when the caller next reads over_jobs: the given and the ended jobs that still have
-- children to release. If another transaction has locked one of the jobs, the function does nothing and `ended` is
-- NULL.
create or replace function app.end_below(p_parents uuid[], p_limit integer)
returns table (ended integer, over_jobs uuid[], lanes integer[])
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_children uuid[];
  v_ids uuid[];
  v_edges smallint[];
  v_ends jsonb;
  v_locked integer;
begin
  over_jobs := p_parents;
  lanes := '{}';
  ended := 0;
  with recursive below (job_id, tenant_id, outcome, edge_no, parent_id, type) as (
    select o.job_id, o.tenant_id, o.outcome, null::smallint, null::uuid, null::text
    from app.outcomes_of(p_parents) o
    union
    select d.child_id, b.tenant_id, d.outcome, d.edge_no, b.job_id, d.type
    from below b
    cross join lateral (
      select x.child_id, x.edge_no, x.type, case x.on_failure when 'fail' then 'failed' else 'canceled' end as outcome
      from app.job_dependencies x
      where x.parent_id = b.job_id
        and x.tenant_id = b.tenant_id
        and x.state = 'pending'
        and x.on_failure <> 'run'
        and not app.edge_holds(x.type, x.condition, b.outcome, null)
        and exists (
          select 1
          from app.live_jobs l
          where l.job_id = x.child_id
            and l.state = 'blocked'
        )
      offset 0
    ) d
  ),
  edge as materialized (
    select *
    from below
    where edge_no is not null
    limit p_limit
  ),
  ending as (
    select distinct on (job_id) *
    from edge
    order by job_id, parent_id
  )
  select
    array(select job_id from edge),
    array(select edge_no from edge),
    array(select job_id from ending order by 1),
    (
      select jsonb_agg(
        jsonb_build_object(
          'id', job_id,
          'outcome', outcome,
          'error_type', case type when 'conditional' then 'condition_not_met' else 'parent_failed' end,
          'error_text', case type
            when 'conditional' then format('The condition on job %s was not met.', parent_id)
            else format('Job %s, for which it waited, did not succeed.', parent_id)
          end
        )
      )
      from ending
    )
  into v_children, v_edges, v_ids, v_ends;
  if cardinality(v_ids) > 0 then
    select count(*)
    into v_locked
    from unnest(v_ids) u (id)
    cross join lateral (
      select 1
      from app.live_jobs x
      where x.job_id = u.id
        and x.state = 'blocked'
      for no key update skip locked
    ) l;
    if v_locked < cardinality(v_ids) then
      ended := null;
      return next;
      return;
    end if;
    update app.job_dependencies d
    set state = 'failed'
    from unnest(v_children, v_edges) u (child_id, edge_no)
    where d.child_id = u.child_id
      and d.edge_no = u.edge_no
      and d.state = 'pending';
    select
      coalesce(array_agg(e.job_id) filter (where e.has_dependents), '{}'),
      coalesce(array_agg(distinct e.lane_no), '{}'),
      count(*)
    into v_ids, lanes, ended
    from app.end_blocked(v_ends) e;
    over_jobs := p_parents || v_ids;
  end if;
  over_jobs := array(
    select u.id
    from unnest(over_jobs) u (id)
    where exists (
      select 1
      from app.job_dependencies d
      where d.parent_id = u.id
        and d.state = 'pending'
    )
  );
  return next;
end
$$;
revoke all on function app.end_below(uuid[], integer) from public;
grant execute on function app.end_below(uuid[], integer) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- For children that the caller has locked and whose edges it has decided: ends those in p_ends (as for
-- app.end_blocked). Of the others, it queues those that have no pending parent, with the results of their parents in
-- the payload. A child whose payload cannot be rendered fails. Returns the jobs that have ended and have dependents,
-- and the lanes in which a job changed.
create or replace function app.settle_released(p_children uuid[], p_ends jsonb)
returns table (over_jobs uuid[], lanes integer[])
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_done uuid[];
  v_failed jsonb := '[]';
  v_child uuid;
  v_problem text;
  v_over uuid[];
  v_ended uuid[];
  v_more integer[];
begin
  select
    coalesce(array_agg(e.job_id) filter (where e.has_dependents), '{}'),
    coalesce(array_agg(distinct e.lane_no), '{}')
  into over_jobs, lanes
  from app.end_blocked(p_ends) e;
  v_done := array(
    select c.id
    from unnest(p_children) c (id)
    cross join lateral (
      select x.job_id
      from app.live_jobs x
      where x.job_id = c.id
        and x.state = 'blocked'
      offset 0
    ) l
    where not exists (
      select 1
      from app.job_dependencies d
      where d.child_id = c.id
        and (d.state = 'pending' or (d.state = 'failed' and d.on_failure <> 'run'))
      offset 0
    )
    order by 1
  );
  for v_child in
    select c.id
    from unnest(v_done) c (id)
    where exists (
      select 1
      from app.job_dependencies d
      where d.child_id = c.id
        and d.bindings is not null
      offset 0
    )
    order by 1
  loop
    -- A problem with one child must not keep its parent from ending.
    begin
      v_problem := app.render_payload(v_child);
    exception when data_exception then
      v_problem := 'The results do not fit into the payload.';
    end;
    if v_problem is not null then
      v_failed := v_failed || jsonb_build_object(
        'id', v_child,
        'outcome', 'failed',
        'error_type', 'template',
        'error_text', v_problem
      );
      v_done := array_remove(v_done, v_child);
    end if;
  end loop;

  with free as materialized (
    select l.tid
    from unnest(v_done) c (id)
    cross join lateral (
      select x.ctid as tid
      from app.live_jobs x
      where x.job_id = c.id
      offset 0
    ) l
  ),
  released as (
    update app.live_jobs l
    set
      state = 'queued',
      ready = l.scheduled_for <= app.now(),
      scheduled_for = greatest(l.scheduled_for, app.now()),
      sort_key = app.sort_key_of(greatest(l.scheduled_for, app.now()), l.priority)
    from free
    where l.ctid = free.tid
    returning l.lane_no
  )
  select coalesce(array_agg(distinct lane_no), '{}')
  into v_more
  from released;
  lanes := lanes || v_more;
  if v_failed <> '[]' then
    select
      coalesce(array_agg(e.job_id) filter (where e.has_dependents), '{}'),
      coalesce(array_agg(e.job_id), '{}'),
      coalesce(array_agg(distinct e.lane_no), '{}')
    into v_over, v_ended, v_more
    from app.end_blocked(v_failed) e;
    update app.job_dependencies d
    set state = 'failed'
    where d.child_id = any (v_ended)
      and d.type = 'data';
    over_jobs := over_jobs || v_over;
    lanes := lanes || v_more;
  end if;
  return next;
end
$$;
revoke all on function app.settle_released(uuid[], jsonb) from public;
grant execute on function app.settle_released(uuid[], jsonb) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Releases children of jobs that have ended, in ranges of child ids (p_from[i] to p_to[i] of p_parents[i]). A child
-- without pending parents is queued. A child whose parent did not do what it waits for ends as its on_failure says; and
-- so on down the graph. Also settles p_children themselves, whose edges are decided already. Returns the number of
-- children that it handled (`handled`), and the lanes in which a job changed.
--
-- One call decides edges of a weight of 2,000 at most, on 1,000 levels at most, so it takes about a second at most. An
-- edge weighs 1, and 1 more for each 50 bytes of the child's bindings (compressed). If the child then waits for nothing
-- more, the edge weighs 1 more for each 5,000 bytes of the child's payload and of the results of its data edges, before
-- compression, and 1 for each 12 names in the paths of its places, without the first two of each path. Each result is
-- decompressed once for all edges that are read.
--
-- The backlog gets ranges that are left over, children that another transaction has locked, and children of a job that
-- has not ended (because it began a new run meanwhile). With p_may_wait, a call tries locked children again for 126 ms
-- in all, because most are locked by the end of another parent. It sleeps instead of queueing for the lock, which could
-- end in a deadlock.
create or replace function app.release_children(
  p_parents uuid[],
  p_from uuid[],
  p_to uuid[],
  p_children uuid[],
  p_may_wait boolean
)
returns table (handled integer, lanes integer[])
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_first constant uuid := '00000000-0000-0000-0000-000000000000';
  v_last constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_left integer := 2000;
  v_naps integer := 0;
  v_read integer;
  v_stop_n bigint;
  v_stop_child uuid;
  v_handled uuid[];
  v_ends jsonb;
  v_over uuid[];
  v_more integer[];
  v_below integer := 0;
  v_missed uuid[];
  v_missed_child uuid[];
  v_unclear bigint[];
  v_rest uuid[] := '{}';
  v_rest_from uuid[] := '{}';
  v_rest_to uuid[] := '{}';
begin
  handled := 0;
  lanes := '{}';
  if cardinality(p_children) > 0 then
    select
      coalesce(array_agg(distinct c.id), '{}'),
      coalesce(
        jsonb_agg(
          jsonb_build_object(
            'id', c.id,
            'outcome', case d.on_failure when 'fail' then 'failed' else 'canceled' end,
            'error_type', 'parent_failed',
            'error_text', format('Job %s, for which it waited, did not succeed.', d.parent_id)
          )
        ) filter (where d.parent_id is not null),
        '[]'
      )
    into v_handled, v_ends
    from unnest(p_children) c (id)
    cross join lateral (
      select x.job_id
      from app.live_jobs x
      where x.job_id = c.id
        and x.state = 'blocked'
      for no key update skip locked
    ) l
    left join lateral (
      select x.parent_id, x.on_failure
      from app.job_dependencies x
      where x.child_id = c.id
        and x.state = 'failed'
        and x.on_failure <> 'run'
      order by x.edge_no
      limit 1
    ) d on true;
    select s.over_jobs, s.lanes into v_over, v_more from app.settle_released(v_handled, v_ends) s;
    handled := cardinality(v_handled);
    lanes := lanes || v_more;
    p_parents := p_parents || v_over;
    p_from := p_from || array_fill(v_first, array[cardinality(v_over)]);
    p_to := p_to || array_fill(v_last, array[cardinality(v_over)]);
  end if;

  while cardinality(p_parents) > 0 and v_left > 0 loop
    with parent as materialized (
      select u.n, u.id, u.low, u.high, o.tenant_id, o.outcome, o.result
      from unnest(p_parents, p_from, p_to) with ordinality u (id, low, high, n)
      left join lateral (
        select x.tenant_id, x.outcome, x.result
        from app.job_attempts x
        where x.job_id = u.id
          and x.outcome is not null
          and not x.superseded
        order by x.attempt_no desc
        limit 1
      ) o on true
    ),
    candidate as materialized (
      select r.*, sum(r.least) over (order by r.n, r.child_id) - r.least as before
      from (
        select
          p.n,
          d.tid,
          d.child_id,
          d.parent_id,
          d.type,
          d.on_failure,
          1 + coalesce(b.bytes, 0) / 50 as least,
          app.edge_holds(d.type, d.condition, p.outcome, p.result) as holds,
          b.bytes is not null and not exists (
            select 1
            from app.job_dependencies x
            where x.child_id = d.child_id
              and x.state = 'pending'
              and x.parent_id <> all (p_parents)
            offset 0
          ) as is_last
        from (
          -- One decompressed copy for all edges of a parent, if a condition reads it.
          select
            p.n,
            p.id,
            p.low,
            p.high,
            p.tenant_id,
            p.outcome,
            case
              when exists (
                select 1
                from (
                  select x.type
                  from app.job_dependencies x
                  where x.parent_id = p.id
                    and x.state = 'pending'
                    and x.child_id between p.low and p.high
                  order by x.child_id
                  limit v_left
                ) e
                where e.type = 'conditional'
              ) then p.result #> '{}'
            end as result
          from parent p
          offset 0
        ) p
        cross join lateral (
          select x.ctid as tid, x.child_id, x.parent_id, x.type, x.condition, x.on_failure
          from app.job_dependencies x
          where x.parent_id = p.id
            and x.tenant_id = p.tenant_id
            and x.state = 'pending'
            and x.child_id between p.low and p.high
          order by x.child_id
          offset 0
        ) d
        left join lateral (
          select pg_column_size(x.bindings) as bytes
          from app.job_dependencies x
          where x.child_id = d.child_id
            and x.bindings is not null
          limit 1
        ) b on true
        limit v_left
      ) r
    ),
    known as materialized (
      select coalesce(jsonb_object_agg(s.id, coalesce(o.bytes, 0)), '{}') as bytes
      from (
        select distinct x.parent_id as id
        from candidate c
        cross join lateral (
          select y.parent_id
          from app.job_dependencies y
          where y.child_id = c.child_id
            and y.type = 'data'
          offset 0
        ) x
        where c.is_last
          and c.before < v_left
        limit 500
      ) s
      left join lateral (
        select pg_column_size(x.result #> '{}') as bytes
        from app.job_attempts x
        where x.job_id = s.id
          and x.outcome is not null
          and not x.superseded
        order by x.attempt_no desc
        limit 1
      ) o on true
    ),
    edge as materialized (
      select w.n, w.tid, w.child_id, w.parent_id, w.type, w.on_failure, w.holds, w.weight
      from (
        select c.*, sum(c.weight) over (order by c.n, c.child_id) - c.weight as before
        from (
          select
            r.n,
            r.tid,
            r.child_id,
            r.parent_id,
            r.type,
            r.on_failure,
            r.holds,
            r.least + case
              when r.is_last then
                (
                  (select pg_column_size(x.payload #> '{}') from app.jobs x where x.id = r.child_id)
                  + (
                    select coalesce(sum(coalesce((k.bytes ->> x.parent_id::text)::integer, 300000)), 0)
                    from app.job_dependencies x
                    where x.child_id = r.child_id
                      and x.type = 'data'
                  )
                ) / 5000
                + (
                  select coalesce(sum(greatest(jsonb_array_length(v.value -> 'at') - 2, 0)), 0) / 12
                  from app.job_dependencies x
                  cross join lateral jsonb_array_elements(x.bindings) v (value)
                  where x.child_id = r.child_id
                    and x.bindings is not null
                )
              else 0
            end as weight
          from candidate r, known k
          where r.before < v_left
        ) c
      ) w
      where w.before < v_left
    ),
    seen as materialized (
      select
        e.tid,
        e.child_id,
        e.parent_id,
        e.type,
        e.on_failure,
        l.job_id is not null as is_locked,
        b.is_blocked,
        e.holds
      from (select * from edge order by child_id) e
      left join lateral (
        select x.job_id
        from app.live_jobs x
        where x.job_id = e.child_id
          and x.state = 'blocked'
        for no key update skip locked
      ) l on true
      left join lateral (
        select true as is_blocked
        from app.live_jobs x
        where l.job_id is null
          and x.job_id = e.child_id
          and x.state = 'blocked'
        offset 0
      ) b on true
    ),
    decided as (
      update app.job_dependencies d
      set state = case when s.holds then 'met' else 'failed' end
      from seen s
      where d.ctid = s.tid
        and s.is_locked
        and d.state = 'pending'
      returning d.child_id, d.parent_id, s.type, s.on_failure, s.holds or s.on_failure = 'run' as goes_on
    ),
    ending as (
      select distinct on (child_id) child_id, parent_id, type, on_failure
      from decided
      where not goes_on
      order by child_id, parent_id
    )
    select
      (select coalesce(sum(weight), 0) from edge),
      last.n,
      last.child_id,
      array(select distinct child_id from decided order by 1),
      (
        select coalesce(
          jsonb_agg(
            jsonb_build_object(
              'id', child_id,
              'outcome', case on_failure when 'fail' then 'failed' else 'canceled' end,
              'error_type', case type when 'conditional' then 'condition_not_met' else 'parent_failed' end,
              'error_text', case type
                when 'conditional' then format('The condition on job %s was not met.', parent_id)
                else format('Job %s, for which it waited, did not succeed.', parent_id)
              end
            )
          ),
          '[]'
        )
        from ending
      ),
      array(select s.parent_id from seen s where s.is_blocked order by s.tid),
      array(select s.child_id from seen s where s.is_blocked order by s.tid),
      array(select p.n from parent p where p.outcome is null)
    into v_read, v_stop_n, v_stop_child, v_handled, v_ends, v_missed, v_missed_child, v_unclear
    from (select 1) one
    left join (select n, child_id from edge order by n desc, child_id desc limit 1) last on true;

    -- Not decided in this turn: jobs without an outcome, and the edges after the last one that was read.
    select
      v_rest || coalesce(array_agg(u.id), '{}'),
      v_rest_to || coalesce(array_agg(u.high), '{}'),
      v_rest_from
        || coalesce(array_agg(case when u.n = v_stop_n and v_read >= v_left then v_stop_child else u.low end), '{}')
    into v_rest, v_rest_to, v_rest_from
    from unnest(p_parents, p_from, p_to) with ordinality u (id, low, high, n)
    where u.n = any (v_unclear)
      or (v_read >= v_left and u.n >= v_stop_n);
    v_left := v_left - greatest(v_read, 2);

    v_over := '{}';
    if cardinality(v_handled) > 0 then
      select s.over_jobs, s.lanes into v_over, v_more from app.settle_released(v_handled, v_ends) s;
      handled := handled + cardinality(v_handled);
      lanes := lanes || v_more;
    end if;
    -- If another transaction has locked a job further down, this loop goes around it, level by level.
    if cardinality(v_over) > 0 and v_left > 0 and v_below is not null then
      select e.ended, e.over_jobs, e.lanes into v_below, v_over, v_more from app.end_below(v_over, v_left) e;
      handled := handled + coalesce(v_below, 0);
      v_left := v_left - coalesce(v_below, 0);
      lanes := lanes || v_more;
    end if;
    p_parents := v_over;
    p_from := array_fill(v_first, array[cardinality(v_over)]);
    p_to := array_fill(v_last, array[cardinality(v_over)]);
    if p_may_wait and v_naps < 6 and cardinality(v_missed) > 0 then
      perform pg_sleep(0.002 * 2 ^ v_naps);
      v_naps := v_naps + 1;
      p_parents := v_missed || p_parents;
      p_from := v_missed_child || p_from;
      p_to := v_missed_child || p_to;
    else
      v_rest := v_rest || v_missed;
      v_rest_from := v_rest_from || v_missed_child;
      v_rest_to := v_rest_to || v_missed_child;
    end if;
  end loop;

  v_rest := v_rest || p_parents;
  v_rest_from := v_rest_from || p_from;
  v_rest_to := v_rest_to || p_to;
  if cardinality(v_rest) > 0 then
    insert into app.release_backlog (tenant_id, parent_id, from_child, to_child)
    select d.tenant_id, u.id, u.low, u.high
    from unnest(v_rest, v_rest_from, v_rest_to) with ordinality u (id, low, high, n)
    cross join lateral (
      select x.tenant_id
      from app.job_dependencies x
      where x.parent_id = u.id
        and x.state = 'pending'
        and x.child_id between u.low and u.high
      limit 1
    ) d
    order by u.n;
  end if;
  lanes := array(select distinct l from unnest(lanes) u (l));
  return next;
end
$$;
revoke all on function app.release_children(uuid[], uuid[], uuid[], uuid[], boolean) from public;
grant execute on function app.release_children(uuid[], uuid[], uuid[], uuid[], boolean)
  to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Releases all children of the given jobs, and settles p_children, as app.release_children does. Call it in the
-- transaction that ended the parents, after the statement that ended them. Returns the lanes in which a job changed.
create or replace function app.release_dependents(p_parents uuid[], p_children uuid[] default '{}')
returns integer[]
language plpgsql
set search_path = pg_catalog, app
as $$
begin
  return (
    select t.lanes
    from app.release_children(
      p_parents,
      array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[cardinality(p_parents)]),
      array_fill('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, array[cardinality(p_parents)]),
      p_children,
      true
    ) t
  );
end
$$;
revoke all on function app.release_dependents(uuid[], uuid[]) from public;
grant execute on function app.release_dependents(uuid[], uuid[]) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Processes up to p_limit ranges of a tenant's backlog, oldest first, and skips ranges that another transaction has
-- locked. A job that began a new run before the backlog of its last end was done is marked as having dependents
-- instead, so that the end of the new run releases them. `parts` is the number of ranges taken, `handled` the number of children
-- handled; parts without children are a backlog of locked children.
create or replace function app.work_off_releases_of(p_tenant uuid, p_limit integer)
returns table (parts integer, handled integer, lanes integer[])
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_parents uuid[];
  v_from uuid[];
  v_to uuid[];
begin
  with due as materialized (
    select b.ctid as tid
    from app.release_backlog b
    where b.tenant_id = p_tenant
    order by b.id
    limit p_limit
    for update skip locked
  ),
  taken as (
    delete from app.release_backlog b
    using due
    where b.ctid = due.tid
    returning b.*
  ),
  again as (
    update app.live_jobs l
    set has_dependents = true
    from (
      select x.tid
      from (select distinct parent_id from taken) t
      cross join lateral (
        select y.ctid as tid
        from app.live_jobs y
        where y.job_id = t.parent_id
        for no key update skip locked
      ) x
    ) live
    where l.ctid = live.tid
    returning l.job_id
  ),
  waited as materialized (
    select array(select job_id from again) as ids
  )
  select
    count(*),
    coalesce(array_agg(t.parent_id order by t.id) filter (where not t.is_again), '{}'),
    coalesce(array_agg(t.from_child order by t.id) filter (where not t.is_again), '{}'),
    coalesce(array_agg(t.to_child order by t.id) filter (where not t.is_again), '{}')
  into parts, v_parents, v_from, v_to
  from (
    select taken.*, parent_id = any (waited.ids) as is_again
    from taken, waited
  ) t;
  select t.handled, t.lanes into handled, lanes from app.release_children(v_parents, v_from, v_to, '{}', false) t;
  return next;
end
$$;
revoke all on function app.work_off_releases_of(uuid, integer) from public;
grant execute on function app.work_off_releases_of(uuid, integer) to leasehold_worker, leasehold_scheduler;

-- Gives the tenants in the backlog their turns: app.work_off_releases_of for each tenant after p_after, in the order of
-- their ids and around to p_after. Ends after 100 tenants, or with the tenant whose turn ends after 100 ms. `served` is
-- where the next call continues, the sums are those of all turns.
create or replace function app.work_off_releases_in_turns(p_limit integer, p_after uuid)
returns table (parts integer, handled integer, lanes integer[], served uuid)
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_until constant timestamptz := clock_timestamp() + interval '100 ms';
  v_is_around boolean := false;
  v_next uuid;
  v_turn record;
begin
  parts := 0;
  handled := 0;
  lanes := '{}';
  served := p_after;
  for v_n in 1..100 loop
    v_next := (select b.tenant_id from app.release_backlog b where b.tenant_id > served order by b.tenant_id limit 1);
    if v_next is null and not v_is_around then
      v_is_around := true;
      v_next := (select b.tenant_id from app.release_backlog b order by b.tenant_id limit 1);
    end if;
    exit when v_next is null or (v_is_around and v_next > p_after);
    served := v_next;
    select t.parts, t.handled, t.lanes into v_turn from app.work_off_releases_of(v_next, p_limit) t;
    parts := parts + v_turn.parts;
    handled := handled + v_turn.handled;
    lanes := lanes || v_turn.lanes;
    exit when clock_timestamp() > v_until;
  end loop;
  lanes := array(select distinct l from unnest(lanes) u (l));
  return next;
end
$$;
revoke all on function app.work_off_releases_in_turns(integer, uuid) from public;
grant execute on function app.work_off_releases_in_turns(integer, uuid) to leasehold_worker, leasehold_scheduler;

-- For processes of the previous version: the turn of the tenant with the oldest range.
create or replace function app.work_off_releases(p_limit integer)
returns table (parts integer, handled integer, lanes integer[])
language sql
set search_path = pg_catalog, app
as $$
  select t.parts, t.handled, t.lanes
  from (select b.tenant_id from app.release_backlog b order by b.id limit 1) o,
    app.work_off_releases_of(o.tenant_id, p_limit) t
$$;
revoke all on function app.work_off_releases(integer) from public;
grant execute on function app.work_off_releases(integer) to leasehold_worker, leasehold_scheduler;

-- Heals a state that should not occur. Reads up to p_limit blocked jobs after p_after, and at most 5,000 of their
-- edges, and releases jobs without a pending edge and children of parents that have ended and are not in the backlog.
-- `healed` is the number of jobs that are no longer blocked; `last` is where the next call continues, NULL at the end.
create or replace function app.sweep_dependents(p_after uuid, p_limit integer)
returns table (last uuid, healed integer, lanes integer[])
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_most constant integer := 5000;
  v_children uuid[];
  v_edges integer;
  v_free uuid[];
  v_over uuid[];
  v_n bigint;
begin
  with child as materialized (
    select l.job_id
    from app.live_jobs l
    where l.state = 'blocked'
      and l.job_id > p_after
    order by l.job_id
    limit p_limit
  ),
  edge as materialized (
    select c.job_id, d.parent_id
    from child c
    left join lateral (
      select x.parent_id
      from app.job_dependencies x
      where x.child_id = c.job_id
        and x.state = 'pending'
      offset 0
    ) d on true
    limit v_most
  ),
  over as (
    select e.parent_id
    from (select distinct parent_id from edge where parent_id is not null) e
    where exists (select 1 from app.outcomes_of(array[e.parent_id]))
      and not exists (select 1 from app.release_backlog b where b.parent_id = e.parent_id)
  )
  select
    array(select distinct job_id from edge order by 1),
    (select count(*) from edge),
    (select count(*) from child),
    array(select job_id from edge where parent_id is null),
    array(select parent_id from over)
  into v_children, v_edges, v_n, v_free, v_over;
  lanes := '{}';
  healed := 0;
  if cardinality(v_free) + cardinality(v_over) > 0 then
    select t.lanes
    into lanes
    from app.release_children(
      v_over,
      array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[cardinality(v_over)]),
      array_fill('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, array[cardinality(v_over)]),
      v_free,
      false
    ) t;
    healed := (select count(*) from unnest(v_children) c (id) where not app.is_blocked(c.id));
  end if;
  -- The last child of a full part may have more edges than were read: the next call begins with it.
  last := case
    when v_edges = v_most and cardinality(v_children) > 1 then v_children[cardinality(v_children) - 1]
    when v_edges = v_most or v_n = p_limit then v_children[cardinality(v_children)]
  end;
  return next;
end
$$;
revoke all on function app.sweep_dependents(uuid, integer) from public;
grant execute on function app.sweep_dependents(uuid, integer) to leasehold_scheduler;
