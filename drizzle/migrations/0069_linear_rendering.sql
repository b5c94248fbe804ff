-- The cost of releasing a child follows the bytes that are read for it. PostgreSQL 18 copies a large value again for each
-- jsonb that is built around it, so payloads are built as text, and results stay out of other values.

-- The JSON text of a value with other JSON texts in places of it: `p_texts[i]` goes where `p_places[i]` [name, …] leads, of whose
-- names the first `p_depth` lead here. No place is inside of another one. Fails with data_exception for a place that does not
-- exist. The cost is linear in the size of the value and the texts, at each level that leads to a place.
create function app.filled_json_text(p_source jsonb, p_places jsonb[], p_texts text[], p_depth integer) returns text
  language plpgsql immutable set search_path = pg_catalog, app
  as $$
  declare v_type text := jsonb_typeof(p_source); v_inside jsonb; v_filled text[];
  begin
    if p_source is null then raise exception 'there is no such place' using errcode = 'data_exception'; end if;
    if jsonb_array_length(p_places[1]) = p_depth then return p_texts[1]; end if;
    if v_type not in ('object', 'array') then raise exception 'there is no such place' using errcode = 'data_exception'; end if;
    select jsonb_object_agg(g.name, g.n), array_agg(app.filled_json_text(
        case v_type when 'object' then p_source -> g.name else p_source -> g.name::integer end,
        g.places, g.texts, p_depth + 1) order by g.n)
      into v_inside, v_filled
      from (select x.name, row_number() over () as n, x.places, x.texts from (
        select p.place ->> p_depth as name, array_agg(p.place) as places, array_agg(p.text) as texts
        from unnest(p_places, p_texts) p (place, text) group by 1) x) g;
    if v_type = 'object' then
      return (select '{' || string_agg(to_json(e.key)::text || ':'
          || coalesce(v_filled[(v_inside ->> e.key)::integer], e.value::text), ',' order by e.n) || '}'
        from jsonb_each(p_source) with ordinality e (key, value, n));
    end if;
    return (select '[' || string_agg(coalesce(v_filled[(v_inside ->> (e.n - 1)::text)::integer], e.value::text), ',' order by e.n) || ']'
      from jsonb_array_elements(p_source) with ordinality e (value, n));
  end $$;

drop function app.filled_json(jsonb, jsonb, integer);

-- As before, but no result is copied into another value, and the payload is written as text.
create or replace function app.render_payload(p_child uuid) returns text
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_most constant integer := 262144;
    v_bindings jsonb[]; v_parts jsonb[]; v_of integer[];  -- the parts of all bindings, and of which binding each is
    v_whole boolean[]; v_texts text[]; v_text text; v_value jsonb; v_edge record; v_outcome jsonb; v_result jsonb; v_steps text[];
    v_n integer; v_bytes bigint := 0; v_missing integer; v_payload jsonb;
  begin
    select array(select b.value from jsonb_array_elements(d.bindings) with ordinality b (value, n) order by b.n) into v_bindings
      from app.job_dependencies d where d.child_id = p_child and d.bindings is not null;
    if coalesce(cardinality(v_bindings), 0) = 0 then return null; end if;
    select coalesce(array_agg(p.value order by b.n, p.n), '{}'), coalesce(array_agg(b.n::integer order by b.n, p.n), '{}') into v_parts, v_of
      from unnest(v_bindings) with ordinality b (value, n)
      cross join lateral jsonb_array_elements(b.value -> 'parts') with ordinality p (value, n);
    v_texts := array_fill(null::text, array[cardinality(v_parts)]);
    v_whole := array(select (b.value -> 'whole')::boolean from unnest(v_bindings) with ordinality b (value, n) order by b.n);

    for v_edge in
      select (u.part #>> '{steps,0}')::smallint as no, array_agg(u.n::integer order by u.n) as places
      from unnest(v_parts) with ordinality u (part, n) where not u.part ? 'text' group by 1
    loop
      -- `#> '{}'` decompresses the result once, and not for each place.
      v_outcome := null; v_result := null;
      select to_jsonb(o.outcome), o.result #> '{}' into v_outcome, v_result
        from app.job_dependencies d
        cross join lateral (select x.outcome, x.result from app.outcomes_of(array[d.parent_id]) x) o
        where d.child_id = p_child and d.edge_no = v_edge.no;
      foreach v_n in array v_edge.places loop
        v_steps := array(select s.value from jsonb_array_elements_text(v_parts[v_n] -> 'steps')
          with ordinality s (value, n) where s.n > 1 order by s.n);
        v_value := coalesce(case v_steps[1] when 'result' then v_result #> v_steps[2:] when 'status' then v_outcome #> v_steps[2:] end,
          v_parts[v_n] -> 'default');
        if v_value is null then
          v_missing := least(v_missing, v_n);
          continue;
        end if;
        -- Written into the payload, no value is shorter than this.
        v_text := case when jsonb_typeof(v_value) = 'string' then v_value #>> '{}' else v_value::text end;
        v_bytes := v_bytes + octet_length(v_text);
        if v_bytes > v_most then return 'payload would have more than 256 KiB.'; end if;
        v_texts[v_n] := case when v_whole[v_of[v_n]] and jsonb_typeof(v_value) = 'string' then v_value::text else v_text end;
      end loop;
    end loop;
    if v_missing is not null then
      return format('payload%s needs %s, which is not there.',
        coalesce((select string_agg('/' || replace(replace(a.value, '~', '~0'), '/', '~1'), '' order by a.n)
                  from jsonb_array_elements_text(v_bindings[v_of[v_missing]] -> 'at') with ordinality a (value, n)), ''),
        v_parts[v_missing] ->> 'name');
    end if;

    select app.filled_json_text(j.payload #> '{}', t.places, t.texts, 0)::jsonb into v_payload
      from app.jobs j, (
        select array_agg(v_bindings[b.binding] -> 'at' order by b.binding) as places,
          array_agg(case when v_whole[b.binding] then b.text else to_json(b.text)::text end order by b.binding) as texts
        from (
          select u.binding, string_agg(case when u.part ? 'text' then u.part ->> 'text' else u.text end, '' order by u.n) as text
          from unnest(v_of, v_parts, v_texts) with ordinality u (binding, part, text, n) group by u.binding) b) t
      where j.id = p_child;
    if octet_length(v_payload::text) > v_most then return 'payload would have more than 256 KiB.'; end if;
    if jsonb_path_exists(v_payload, '$.**{33 to last}') then return 'payload would be nested deeper than 32 levels.'; end if;
    update app.jobs j set payload = v_payload where j.id = p_child;
    return null;
  end $$;

-- As before, but the value is read from the result once, and the result is not copied.
create or replace function app.condition_holds(p_condition jsonb, p_outcome text, p_result jsonb) returns boolean
  language plpgsql immutable parallel safe
  as $$
  declare
    v_op text := p_condition ->> 'op';
    v_wanted jsonb := coalesce(p_condition -> 'value', 'null');
    v_steps text[] := array(select s.value from jsonb_array_elements_text(p_condition -> 'steps') with ordinality s (value, n) order by s.n);
    v_found jsonb := coalesce(case v_steps[1] when 'result' then p_result #> v_steps[2:]
                                              when 'status' then to_jsonb(p_outcome) #> v_steps[2:] end, 'null');
  begin
    case v_op
      when 'exists' then return (v_found <> 'null') = coalesce((p_condition ->> 'value')::boolean, true);
      when 'eq' then return v_found = v_wanted;
      when 'ne' then return v_found <> v_wanted;
      when 'in' then return exists (select 1 from jsonb_array_elements(v_wanted) one (value) where one.value = v_found);
      else
        if jsonb_typeof(v_found) = 'number' and jsonb_typeof(v_wanted) = 'number' then
          return app.order_holds(v_op, sign((v_found #>> '{}')::numeric - (v_wanted #>> '{}')::numeric)::integer);
        elsif jsonb_typeof(v_found) = 'string' and jsonb_typeof(v_wanted) = 'string' then
          return app.order_holds(v_op, case when v_found #>> '{}' = v_wanted #>> '{}' then 0
            when (v_found #>> '{}') collate "C" < (v_wanted #>> '{}') collate "C" then -1 else 1 end);
        end if;
        return false;
    end case;
  end $$;

-- As before, but for the weights of the edges. An edge that no other edge of its child has to follow weighs 1 more for each 5,000 bytes of
-- the child's payload and of the results of its data edges, before compression, and 1 for each 12 names in the paths of its
-- places, without the first two of each. Each result is decompressed once for all edges that are read.
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
      ), candidate as materialized (
        select r.*, sum(r.least) over (order by r.n, r.child_id) - r.least as before from (
          select p.n, d.tid, d.child_id, d.parent_id, d.type, d.on_failure, 1 + coalesce(b.bytes, 0) / 50 as least,
            app.edge_holds(d.type, d.condition, p.outcome, p.result) as holds,
            b.bytes is not null and not exists (select 1 from app.job_dependencies x where x.child_id = d.child_id
              and x.state = 'pending' and x.parent_id <> all (p_parents) offset 0) as is_last
          from (
            -- One decompressed copy for all edges of a parent, if a condition reads it.
            select p.n, p.id, p.low, p.high, p.tenant_id, p.outcome, case when exists (
              select 1 from (select x.type from app.job_dependencies x where x.parent_id = p.id and x.state = 'pending'
                and x.child_id between p.low and p.high order by x.child_id limit v_left) e where e.type = 'conditional')
              then p.result #> '{}' end as result
            from parent p offset 0) p
          cross join lateral (select x.ctid as tid, x.child_id, x.parent_id, x.type, x.condition, x.on_failure
            from app.job_dependencies x where x.parent_id = p.id and x.tenant_id = p.tenant_id and x.state = 'pending'
              and x.child_id between p.low and p.high order by x.child_id offset 0) d
          left join lateral (select pg_column_size(x.bindings) as bytes from app.job_dependencies x
            where x.child_id = d.child_id and x.bindings is not null limit 1) b on true
          limit v_left) r
      ), known as materialized (
        select coalesce(jsonb_object_agg(s.id, coalesce(o.bytes, 0)), '{}') as bytes
        from (select distinct x.parent_id as id from candidate c
          cross join lateral (select y.parent_id from app.job_dependencies y where y.child_id = c.child_id and y.type = 'data' offset 0) x
          where c.is_last and c.before < v_left limit 500) s
        left join lateral (select pg_column_size(x.result #> '{}') as bytes from app.job_attempts x
          where x.job_id = s.id and x.outcome is not null and not x.superseded order by x.attempt_no desc limit 1) o on true
      ), edge as materialized (
        select w.n, w.tid, w.child_id, w.parent_id, w.type, w.on_failure, w.holds, w.weight
        from (select c.*, sum(c.weight) over (order by c.n, c.child_id) - c.weight as before from (
          select r.n, r.tid, r.child_id, r.parent_id, r.type, r.on_failure, r.holds, r.least + case when r.is_last then (
            (select pg_column_size(x.payload #> '{}') from app.jobs x where x.id = r.child_id)
            + (select coalesce(sum(coalesce((k.bytes ->> x.parent_id::text)::integer, 300000)), 0) from app.job_dependencies x
              where x.child_id = r.child_id and x.type = 'data')) / 5000
            + (select coalesce(sum(greatest(jsonb_array_length(v.value -> 'at') - 2, 0)), 0) / 12 from app.job_dependencies x
              cross join lateral jsonb_array_elements(x.bindings) v (value) where x.child_id = r.child_id and x.bindings is not null)
            else 0 end as weight
          from candidate r, known k where r.before < v_left) c) w
        where w.before < v_left
      ), seen as materialized (
        select e.tid, e.child_id, e.parent_id, e.type, e.on_failure, l.job_id is not null as is_locked, b.is_blocked, e.holds
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

revoke all on function app.filled_json_text(jsonb, jsonb[], text[], integer) from public;
grant execute on function app.filled_json_text(jsonb, jsonb[], text[], integer) to leasehold_web, leasehold_worker, leasehold_scheduler;
