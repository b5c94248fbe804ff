-- One call tells a bounded number of children, so that a job with fifty thousand of them ends as quickly as any other.
-- What is left over is noted in the same transaction, and whoever leads works it off, part by part. The same place takes
-- children that somebody else holds: nobody waits for them longer than a moment.

-- Children from_child to to_child of a job are still to be told that it is over.
create table app.release_backlog (
  id bigint generated always as identity primary key,
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  parent_id uuid not null,
  from_child uuid not null,
  to_child uuid not null
);
create index release_backlog_of_parent on app.release_backlog (parent_id);
call app.protect_tenant_table('app.release_backlog');
call app.open_to('app.release_backlog', 'leasehold_worker');
call app.open_to('app.release_backlog', 'leasehold_scheduler');
grant select, insert on app.release_backlog to leasehold_web;
grant select, insert, delete on app.release_backlog to leasehold_worker, leasehold_scheduler;
-- Nobody changes a row; who locks one must be allowed to.
grant update (from_child) on app.release_backlog to leasehold_worker, leasehold_scheduler;

-- In the order in which children are told.
create index job_dependencies_untold on app.job_dependencies (parent_id, child_id) where state = 'pending';
drop index app.job_dependencies_pending;
drop function app.reached_from(uuid[], uuid[]);
drop function app.lock_blocked(uuid[]);

-- For children that the caller has locked and told: ends those of `p_ends` [{id, outcome, error_type, error_text}], and
-- queues those of the others that wait for nothing more. Answers the jobs that are over now and are waited for.
create function app.settle_told(p_told uuid[], p_ends jsonb) returns table (over_jobs uuid[], lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare v_done uuid[]; v_failed jsonb := '[]'; v_child uuid; v_problem text; v_over uuid[]; v_ended uuid[]; v_more integer[];
  begin
    select coalesce(array_agg(e.job_id) filter (where e.has_dependents), '{}'), coalesce(array_agg(distinct e.lane_no), '{}')
      into over_jobs, lanes from app.end_blocked(p_ends) e;
    v_done := array(
      select c.id from unnest(p_told) c (id)
      cross join lateral (select x.job_id from app.live_jobs x where x.job_id = c.id and x.state = 'blocked' offset 0) l
      where not exists (select 1 from app.job_dependencies d where d.child_id = c.id
        and (d.state = 'pending' or (d.state = 'failed' and d.on_failure <> 'run')) offset 0)
      order by 1);
    for v_child in
      select c.id from unnest(v_done) c (id) where exists (
        select 1 from app.job_dependencies d where d.child_id = c.id and d.bindings is not null offset 0)
      order by 1
    loop
      -- Whatever is wrong with one child must not keep its parent from ending.
      begin
        v_problem := app.render_payload(v_child);
      exception when data_exception then
        v_problem := 'The results do not fit into the payload.';
      end;
      if v_problem is not null then
        v_failed := v_failed || jsonb_build_object('id', v_child, 'outcome', 'failed', 'error_type', 'template', 'error_text', v_problem);
        v_done := array_remove(v_done, v_child);
      end if;
    end loop;
    with free as materialized (
      select l.tid from unnest(v_done) c (id)
      cross join lateral (select x.ctid as tid from app.live_jobs x where x.job_id = c.id offset 0) l
    ), released as (
      update app.live_jobs l set state = 'queued', ready = l.scheduled_for <= app.now(),
        scheduled_for = greatest(l.scheduled_for, app.now()),
        sort_key = app.sort_key_of(greatest(l.scheduled_for, app.now()), l.priority)
      from free where l.ctid = free.tid
      returning l.lane_no
    )
    select coalesce(array_agg(distinct lane_no), '{}') into v_more from released;
    lanes := lanes || v_more;
    if v_failed <> '[]' then
      select coalesce(array_agg(e.job_id) filter (where e.has_dependents), '{}'), coalesce(array_agg(e.job_id), '{}'),
          coalesce(array_agg(distinct e.lane_no), '{}')
        into v_over, v_ended, v_more from app.end_blocked(v_failed) e;
      update app.job_dependencies d set state = 'failed' where d.child_id = any (v_ended) and d.type = 'data';
      over_jobs := over_jobs || v_over;
      lanes := lanes || v_more;
    end if;
    return next;
  end $$;

-- Tells children of jobs that are over, in ranges of ids: who waits for nothing more becomes queued, who waited for
-- something that will not come ends by its on_parent_failure, and so on down the graph. Also looks at `p_children`
-- themselves. A call looks at 2,000 edges or 1,000 levels at most; ranges that are left over, children that somebody else holds, and
-- children of a job that is not over (it began a new run meanwhile) go to the backlog. A call that may wait does so for
-- a held child some tenths of a second in all, since most are held by the end of another parent. It sleeps instead of
-- queueing for the lock, which could end in a deadlock.
create function app.tell_children(p_parents uuid[], p_from uuid[], p_to uuid[], p_children uuid[], p_may_wait boolean)
  returns table (told integer, lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare
    v_first constant uuid := '00000000-0000-0000-0000-000000000000'; v_last constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    v_left integer := 2000; v_naps integer := 0; v_read integer; v_stop_n bigint; v_stop_child uuid;
    v_told uuid[]; v_ends jsonb; v_over uuid[]; v_more integer[];
    v_missed uuid[]; v_missed_child uuid[]; v_unclear bigint[];
    v_rest uuid[] := '{}'; v_rest_from uuid[] := '{}'; v_rest_to uuid[] := '{}';
  begin
    told := 0; lanes := '{}';
    if cardinality(p_children) > 0 then
      select coalesce(array_agg(distinct c.id), '{}'), coalesce(jsonb_agg(jsonb_build_object('id', c.id,
          'outcome', case d.on_failure when 'fail' then 'failed' else 'canceled' end, 'error_type', 'parent_failed',
          'error_text', format('Job %s, for which it waited, did not succeed.', d.parent_id))) filter (where d.parent_id is not null), '[]')
        into v_told, v_ends
        from unnest(p_children) c (id)
        cross join lateral (select x.job_id from app.live_jobs x where x.job_id = c.id and x.state = 'blocked'
          for no key update skip locked) l
        left join lateral (select x.parent_id, x.on_failure from app.job_dependencies x where x.child_id = c.id
          and x.state = 'failed' and x.on_failure <> 'run' order by x.edge_no limit 1) d on true;
      select s.over_jobs, s.lanes into v_over, v_more from app.settle_told(v_told, v_ends) s;
      told := cardinality(v_told);
      lanes := lanes || v_more;
      p_parents := p_parents || v_over;
      p_from := p_from || array_fill(v_first, array[cardinality(v_over)]);
      p_to := p_to || array_fill(v_last, array[cardinality(v_over)]);
    end if;

    while cardinality(p_parents) > 0 and v_left > 0 loop
      with parent as materialized (
        select u.n, u.id, u.low, u.high, o.tenant_id, o.outcome, o.result
        from unnest(p_parents, p_from, p_to) with ordinality u (id, low, high, n)
        left join lateral (select x.tenant_id, x.outcome, x.result from app.job_attempts x
          where x.job_id = u.id and x.outcome is not null and not x.superseded order by x.attempt_no desc limit 1) o on true
      ), edge as materialized (
        select p.n, p.outcome, p.result, d.*
        from parent p
        cross join lateral (select x.ctid as tid, x.child_id, x.parent_id, x.type, x.condition, x.on_failure
          from app.job_dependencies x where x.parent_id = p.id and x.tenant_id = p.tenant_id and x.state = 'pending'
            and x.child_id between p.low and p.high order by x.child_id offset 0) d
        limit v_left
      ), seen as materialized (
        select e.tid, e.child_id, e.parent_id, e.type, e.on_failure, l.job_id is not null as is_locked, b.is_blocked,
          app.edge_holds(e.type, e.condition, e.outcome, e.result) as holds
        from (select * from edge order by child_id) e
        left join lateral (select x.job_id from app.live_jobs x where x.job_id = e.child_id and x.state = 'blocked'
          for no key update skip locked) l on true
        left join lateral (select true as is_blocked from app.live_jobs x where l.job_id is null and x.job_id = e.child_id
          and x.state = 'blocked' offset 0) b on true
      ), decided as (
        update app.job_dependencies d set state = case when s.holds then 'met' else 'failed' end
        from seen s where d.ctid = s.tid and s.is_locked and d.state = 'pending'
        returning d.child_id, d.parent_id, s.type, s.on_failure, s.holds or s.on_failure = 'run' as goes_on
      ), ending as (
        select distinct on (child_id) child_id, parent_id, type, on_failure from decided where not goes_on
        order by child_id, parent_id
      )
      select (select count(*) from edge), last.n, last.child_id, array(select distinct child_id from decided order by 1),
        (select coalesce(jsonb_agg(jsonb_build_object('id', child_id,
            'outcome', case on_failure when 'fail' then 'failed' else 'canceled' end,
            'error_type', case type when 'conditional' then 'condition_not_met' else 'parent_failed' end,
            'error_text', case type when 'conditional' then format('The condition on job %s was not met.', parent_id)
              else format('Job %s, for which it waited, did not succeed.', parent_id) end)), '[]') from ending),
        array(select s.parent_id from seen s where s.is_blocked order by s.tid),
        array(select s.child_id from seen s where s.is_blocked order by s.tid),
        array(select p.n from parent p where p.outcome is null)
      into v_read, v_stop_n, v_stop_child, v_told, v_ends, v_missed, v_missed_child, v_unclear
      from (select 1) one left join (select n, child_id from edge order by n desc, child_id desc limit 1) last on true;

      -- Without an outcome, or behind the last edge that was read: not told in this turn.
      select v_rest || coalesce(array_agg(u.id), '{}'), v_rest_to || coalesce(array_agg(u.high), '{}'),
          v_rest_from || coalesce(array_agg(case when u.n = v_stop_n and v_read = v_left then v_stop_child else u.low end), '{}')
        into v_rest, v_rest_to, v_rest_from
        from unnest(p_parents, p_from, p_to) with ordinality u (id, low, high, n)
        where u.n = any (v_unclear) or (v_read = v_left and u.n >= v_stop_n);
      v_left := v_left - greatest(v_read, 2);

      v_over := '{}';
      if cardinality(v_told) > 0 then
        select s.over_jobs, s.lanes into v_over, v_more from app.settle_told(v_told, v_ends) s;
        told := told + cardinality(v_told);
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
        select d.tenant_id, u.id, u.low, u.high from unnest(v_rest, v_rest_from, v_rest_to) with ordinality u (id, low, high, n)
        cross join lateral (select x.tenant_id from app.job_dependencies x where x.parent_id = u.id and x.state = 'pending'
          and x.child_id between u.low and u.high limit 1) d
        order by u.n;
    end if;
    lanes := array(select distinct l from unnest(lanes) u (l));
    return next;
  end $$;

-- Belongs into the transaction in which the parents ended, after the statement that ended them. Answers the lanes in
-- which something changed.
create or replace function app.release_dependents(p_parents uuid[], p_children uuid[] default '{}') returns integer[]
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    return (select t.lanes from app.tell_children(p_parents,
      array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[cardinality(p_parents)]),
      array_fill('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, array[cardinality(p_parents)]), p_children, true) t);
  end $$;

-- Works off a part of the backlog, the oldest first. A job that began a new run before all of its children heard of the
-- end of the last one is marked as waited for, so that they hear of the end of this one. `told` is how many children
-- heard something; `parts` without any is a backlog of children that are held.
create function app.work_off_releases(p_limit integer) returns table (parts integer, told integer, lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_parents uuid[]; v_from uuid[]; v_to uuid[];
  begin
    with due as materialized (
      select b.ctid as tid from app.release_backlog b order by b.id limit p_limit for update skip locked
    ), taken as (
      delete from app.release_backlog b using due where b.ctid = due.tid returning b.*
    ), again as (
      update app.live_jobs l set has_dependents = true
      from (select x.tid from (select distinct parent_id from taken) t
        cross join lateral (select y.ctid as tid from app.live_jobs y where y.job_id = t.parent_id for no key update skip locked) x) live
      where l.ctid = live.tid returning l.job_id
    ), waited as materialized (select array(select job_id from again) as ids)
    select count(*), coalesce(array_agg(t.parent_id order by t.id) filter (where not t.is_again), '{}'),
        coalesce(array_agg(t.from_child order by t.id) filter (where not t.is_again), '{}'),
        coalesce(array_agg(t.to_child order by t.id) filter (where not t.is_again), '{}')
      into parts, v_parents, v_from, v_to
      from (select taken.*, parent_id = any (waited.ids) as is_again from taken, waited) t;
    select t.told, t.lanes into told, lanes from app.tell_children(v_parents, v_from, v_to, '{}', false) t;
    return next;
  end $$;

-- Heals what should not be: looks at up to `p_limit` blocked jobs after `p_after`, and releases those that wait for
-- nothing that is still to come, nor for the backlog. `last` is where the next call goes on, NULL at the end.
create or replace function app.sweep_dependents(p_after uuid, p_limit integer)
  returns table (last uuid, healed integer, lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_most constant integer := 5000; v_children uuid[]; v_edges integer; v_free uuid[]; v_over uuid[]; v_n bigint;
  begin
    with child as materialized (
      select l.job_id from app.live_jobs l where l.state = 'blocked' and l.job_id > p_after order by l.job_id limit p_limit
    ), edge as materialized (
      select c.job_id, d.parent_id
      from child c left join lateral (
        select x.parent_id from app.job_dependencies x where x.child_id = c.job_id and x.state = 'pending' offset 0) d on true
      limit v_most
    ), over as (
      select e.parent_id from (select distinct parent_id from edge where parent_id is not null) e
      where exists (select 1 from app.outcomes_of(array[e.parent_id]))
        and not exists (select 1 from app.release_backlog b where b.parent_id = e.parent_id)
    )
    select array(select distinct job_id from edge order by 1), (select count(*) from edge), (select count(*) from child),
        array(select job_id from edge where parent_id is null), array(select parent_id from over)
      into v_children, v_edges, v_n, v_free, v_over;
    lanes := '{}'; healed := 0;
    if cardinality(v_free) + cardinality(v_over) > 0 then
      select t.lanes into lanes from app.tell_children(v_over,
        array_fill('00000000-0000-0000-0000-000000000000'::uuid, array[cardinality(v_over)]),
        array_fill('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid, array[cardinality(v_over)]), v_free, false) t;
      healed := (select count(*) from unnest(v_children) c (id) where not app.is_blocked(c.id));
    end if;
    -- The last child of a full part may have more edges than were read: the next call begins with it.
    last := case when v_edges = v_most and cardinality(v_children) > 1 then v_children[cardinality(v_children) - 1]
                 when v_edges = v_most or v_n = p_limit then v_children[cardinality(v_children)] end;
    return next;
  end $$;

revoke all on function app.settle_told(uuid[], jsonb), app.tell_children(uuid[], uuid[], uuid[], uuid[], boolean),
  app.work_off_releases(integer) from public;
grant execute on function app.settle_told(uuid[], jsonb), app.tell_children(uuid[], uuid[], uuid[], uuid[], boolean)
  to leasehold_web, leasehold_worker, leasehold_scheduler;
grant execute on function app.work_off_releases(integer) to leasehold_worker, leasehold_scheduler;
