-- Results of parents are put into a payload within the statement that ends the parent, so its cost is bounded: no more is
-- read than the payload may hold, each parent's result is read once, and the payload is written once, not once for each place.

-- A value with other values in places of it: `p_places` [{at: [name, …], value}], of whose names the first `p_depth` lead
-- here. No place is inside of another one. Fails with data_exception for a place that there is not.
create function app.filled_json(p_source jsonb, p_places jsonb, p_depth integer) returns jsonb
  language plpgsql immutable set search_path = pg_catalog, app
  as $$
  declare v_inside jsonb;
  begin
    if jsonb_array_length(p_places #> '{0,at}') = p_depth then return p_places #> '{0,value}'; end if;
    v_inside := (select jsonb_object_agg(g.name, g.places) from (
      select p.value -> 'at' ->> p_depth as name, jsonb_agg(p.value) as places from jsonb_array_elements(p_places) p (value) group by 1) g);
    if exists (select 1 from jsonb_object_keys(v_inside) k (name) where case jsonb_typeof(p_source)
        when 'object' then not p_source ? k.name when 'array' then k.name::integer >= jsonb_array_length(p_source) else true end) then
      raise exception 'there is no such place' using errcode = 'data_exception';
    end if;
    case jsonb_typeof(p_source)
      when 'object' then
        return (select jsonb_object_agg(e.key, case when v_inside ? e.key then app.filled_json(e.value, v_inside -> e.key, p_depth + 1)
          else e.value end) from jsonb_each(p_source) e);
      when 'array' then
        return (select jsonb_agg(case when v_inside ? (e.n - 1)::text then app.filled_json(e.value, v_inside -> (e.n - 1)::text, p_depth + 1)
          else e.value end order by e.n) from jsonb_array_elements(p_source) with ordinality e (value, n));
    end case;
  end $$;

-- Puts its parents' results into a child's payload. NULL = done; otherwise what kept it from being rendered.
-- Where the values go was worked out when the job was enqueued (bindings), so nothing is parsed here.
create or replace function app.render_payload(p_child uuid) returns text
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_most constant integer := 262144;
    v_bindings jsonb[]; v_parts jsonb[]; v_of integer[];  -- the parts of all bindings, and of which binding each is
    v_values jsonb[]; v_value jsonb; v_edge record; v_known jsonb; v_n integer; v_bytes bigint := 0; v_missing integer;
    v_payload jsonb;
  begin
    select array(select b.value from jsonb_array_elements(d.bindings) with ordinality b (value, n) order by b.n) into v_bindings
      from app.job_dependencies d where d.child_id = p_child and d.bindings is not null;
    if coalesce(cardinality(v_bindings), 0) = 0 then return null; end if;
    select coalesce(array_agg(p.value order by b.n, p.n), '{}'), coalesce(array_agg(b.n::integer order by b.n, p.n), '{}') into v_parts, v_of
      from unnest(v_bindings) with ordinality b (value, n)
      cross join lateral jsonb_array_elements(b.value -> 'parts') with ordinality p (value, n);
    v_values := array_fill(null::jsonb, array[cardinality(v_parts)]);

    for v_edge in
      select (u.part #>> '{steps,0}')::smallint as no, array_agg(u.n::integer order by u.n) as places
      from unnest(v_parts) with ordinality u (part, n) where not u.part ? 'text' group by 1
    loop
      v_known := null;
      select jsonb_strip_nulls(jsonb_build_object('status', o.outcome))
          || case when o.result is null then '{}'::jsonb else jsonb_build_object('result', o.result) end
        into v_known
        from app.job_dependencies d
        cross join lateral (select x.outcome, x.result from app.outcomes_of(array[d.parent_id]) x) o
        where d.child_id = p_child and d.edge_no = v_edge.no;
      foreach v_n in array v_edge.places loop
        v_value := coalesce(v_known #> array(select s.value from jsonb_array_elements_text(v_parts[v_n] -> 'steps')
          with ordinality s (value, n) where s.n > 1 order by s.n), v_parts[v_n] -> 'default');
        if v_value is null then
          v_missing := least(v_missing, v_n);
          continue;
        end if;
        -- Written into the payload, no value is shorter than this.
        v_bytes := v_bytes + octet_length(case when jsonb_typeof(v_value) = 'string' then v_value #>> '{}' else v_value::text end);
        if v_bytes > v_most then return 'payload would have more than 256 KiB.'; end if;
        v_values[v_n] := v_value;
      end loop;
    end loop;
    if v_missing is not null then
      return format('payload%s needs %s, which is not there.',
        coalesce((select string_agg('/' || replace(replace(a.value, '~', '~0'), '/', '~1'), '' order by a.n)
                  from jsonb_array_elements_text(v_bindings[v_of[v_missing]] -> 'at') with ordinality a (value, n)), ''),
        v_parts[v_missing] ->> 'name');
    end if;

    select app.filled_json(j.payload, (
        select jsonb_agg(jsonb_build_object('at', v_bindings[t.binding] -> 'at', 'value',
          case when (v_bindings[t.binding] -> 'whole')::boolean then t.value else to_jsonb(t.text) end))
        from (
          select u.binding, (array_agg(u.value order by u.n))[1] as value,
            string_agg(case when u.part ? 'text' then u.part ->> 'text' when jsonb_typeof(u.value) = 'string' then u.value #>> '{}'
              else u.value::text end, '' order by u.n) as text
          from unnest(v_of, v_parts, v_values) with ordinality u (binding, part, value, n) group by u.binding) t), 0)
      into v_payload from app.jobs j where j.id = p_child;
    if octet_length(v_payload::text) > v_most then return 'payload would have more than 256 KiB.'; end if;
    if jsonb_path_exists(v_payload, '$.**{33 to last}') then return 'payload would be nested deeper than 32 levels.'; end if;
    update app.jobs j set payload = v_payload where j.id = p_child;
    return null;
  end $$;

revoke all on function app.filled_json(jsonb, jsonb, integer) from public;
grant execute on function app.filled_json(jsonb, jsonb, integer) to leasehold_web, leasehold_worker, leasehold_scheduler;
