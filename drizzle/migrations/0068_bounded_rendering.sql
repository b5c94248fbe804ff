-- A child whose payload takes results of its parents counts by the size of its bindings, so that a call that tells many such
-- children takes about a second at most. The leader tells the others from the backlog, like those behind the 2,000th edge.

-- As before, but for the weights of the edges: 1, and 1 more for each 50 bytes that the child's bindings take (compressed).
create or replace function app.tell_children(p_parents uuid[], p_from uuid[], p_to uuid[], p_children uuid[], p_may_wait boolean)
  returns table (told integer, lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare
    v_first constant uuid := '00000000-0000-0000-0000-000000000000'; v_last constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    v_left integer := 2000; v_naps integer := 0; v_read integer; v_stop_n bigint; v_stop_child uuid;
    v_told uuid[]; v_ends jsonb; v_over uuid[]; v_more integer[]; v_below integer := 0;
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
        select w.n, w.outcome, w.result, w.tid, w.child_id, w.parent_id, w.type, w.condition, w.on_failure, w.weight
        from (select r.*, sum(r.weight) over (order by r.n, r.child_id) - r.weight as before from (
          select p.n, p.outcome, p.result, d.*, 1 + coalesce(b.bytes, 0) / 50 as weight
          from parent p
          cross join lateral (select x.ctid as tid, x.child_id, x.parent_id, x.type, x.condition, x.on_failure
            from app.job_dependencies x where x.parent_id = p.id and x.tenant_id = p.tenant_id and x.state = 'pending'
              and x.child_id between p.low and p.high order by x.child_id offset 0) d
          left join lateral (select pg_column_size(x.bindings) as bytes from app.job_dependencies x
            where x.child_id = d.child_id and x.bindings is not null limit 1) b on true
          limit v_left) r) w
        where w.before < v_left
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
      select (select coalesce(sum(weight), 0) from edge), last.n, last.child_id, array(select distinct child_id from decided order by 1),
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
          v_rest_from || coalesce(array_agg(case when u.n = v_stop_n and v_read >= v_left then v_stop_child else u.low end), '{}')
        into v_rest, v_rest_to, v_rest_from
        from unnest(p_parents, p_from, p_to) with ordinality u (id, low, high, n)
        where u.n = any (v_unclear) or (v_read >= v_left and u.n >= v_stop_n);
      v_left := v_left - greatest(v_read, 2);

      v_over := '{}';
      if cardinality(v_told) > 0 then
        select s.over_jobs, s.lanes into v_over, v_more from app.settle_told(v_told, v_ends) s;
        told := told + cardinality(v_told);
        lanes := lanes || v_more;
      end if;
      -- Where somebody holds one of those further down, level by level goes around it.
      if cardinality(v_over) > 0 and v_left > 0 and v_below is not null then
        select e.ended, e.over_jobs, e.lanes into v_below, v_over, v_more from app.end_below(v_over, v_left) e;
        told := told + coalesce(v_below, 0);
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
        select d.tenant_id, u.id, u.low, u.high from unnest(v_rest, v_rest_from, v_rest_to) with ordinality u (id, low, high, n)
        cross join lateral (select x.tenant_id from app.job_dependencies x where x.parent_id = u.id and x.state = 'pending'
          and x.child_id between u.low and u.high limit 1) d
        order by u.n;
    end if;
    lanes := array(select distinct l from unnest(lanes) u (l));
    return next;
  end $$;
