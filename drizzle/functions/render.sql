-- Renders results of parents into a child's payload. Both functions run within the statement that ends a parent, so
-- their cost is bounded. PostgreSQL 18 copies a large value again for each jsonb that is built around it, so payloads
-- are built as text, and no result is put into another value. Start with app.render_payload.

-- Returns the JSON text of a value in which other JSON texts replace places: p_texts[i] replaces the value at
-- p_places[i], [name, …]. The first p_depth names of each place lead to p_source. No place is inside another one.
-- Raises data_exception for a place that does not exist. The cost is linear in the size of the value and the texts, per
-- level that leads to a place.
create or replace function app.filled_json_text(p_source jsonb, p_places jsonb[], p_texts text[], p_depth integer)
returns text
language plpgsql immutable
set search_path = pg_catalog, app
as $$
declare
  v_type text := jsonb_typeof(p_source);
  v_inside jsonb;
  v_filled text[];
begin
  if p_source is null then
    raise exception 'there is no such place' using errcode = 'data_exception';
  end if;
  if jsonb_array_length(p_places[1]) = p_depth then
    return p_texts[1];
  end if;
  if v_type not in ('object', 'array') then
    raise exception 'there is no such place' using errcode = 'data_exception';
  end if;
  select
    jsonb_object_agg(g.name, g.n),
    array_agg(
      app.filled_json_text(
        case v_type when 'object' then p_source -> g.name else p_source -> g.name::integer end,
        g.places,
        g.texts,
        p_depth + 1
      )
      order by g.n
    )
  into v_inside, v_filled
  from (
    select x.name, row_number() over () as n, x.places, x.texts
    from (
      select
        p.place ->> p_depth as name,
        array_agg(p.place) as places,
        array_agg(p.text) as texts
      from unnest(p_places, p_texts) p (place, text)
      group by 1
    ) x
  ) g;
  if v_type = 'object' then
    return (
      select
        '{' || string_agg(
          to_json(e.key)::text || ':' || coalesce(v_filled[(v_inside ->> e.key)::integer], e.value::text),
          ','
          order by e.n
        ) || '}'
      from jsonb_each(p_source) with ordinality e (key, value, n)
    );
  end if;
  return (
    select
      '[' || string_agg(
        coalesce(v_filled[(v_inside ->> (e.n - 1)::text)::integer], e.value::text),
        ','
        order by e.n
      ) || ']'
    from jsonb_array_elements(p_source) with ordinality e (value, n)
  );
end
$$;
revoke all on function app.filled_json_text(jsonb, jsonb[], text[], integer) from public;
grant execute on function app.filled_json_text(jsonb, jsonb[], text[], integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Puts the results of its parents into a child's payload. Returns NULL on success, otherwise the problem, as text for
-- the child's error. The places of the values (bindings) were computed when the job was enqueued, so nothing is parsed
-- here. The function stops as soon as the values exceed the 256 KiB of a payload. It reads the result of each parent
-- once, and writes the payload once. Raises data_exception for a place that the payload does not have.
create or replace function app.render_payload(p_child uuid)
returns text
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_most constant integer := 262144;
  v_bindings jsonb[];
  v_parts jsonb[];
  v_of integer[]; -- of each part in v_parts, the binding to which it belongs
  v_whole boolean[];
  v_texts text[];
  v_text text;
  v_value jsonb;
  v_edge record;
  v_outcome jsonb;
  v_result jsonb;
  v_steps text[];
  v_n integer;
  v_bytes bigint := 0;
  v_missing integer;
  v_payload jsonb;
begin
  select array(select b.value from jsonb_array_elements(d.bindings) with ordinality b (value, n) order by b.n)
  into v_bindings
  from app.job_dependencies d
  where d.child_id = p_child
    and d.bindings is not null;
  if coalesce(cardinality(v_bindings), 0) = 0 then
    return null;
  end if;
  select
    coalesce(array_agg(p.value order by b.n, p.n), '{}'),
    coalesce(array_agg(b.n::integer order by b.n, p.n), '{}')
  into v_parts, v_of
  from unnest(v_bindings) with ordinality b (value, n)
  cross join lateral jsonb_array_elements(b.value -> 'parts') with ordinality p (value, n);
  v_texts := array_fill(null::text, array[cardinality(v_parts)]);
  v_whole := array(
    select (b.value -> 'whole')::boolean
    from unnest(v_bindings) with ordinality b (value, n)
    order by b.n
  );

  for v_edge in
    select
      (u.part #>> '{steps,0}')::smallint as no,
      array_agg(u.n::integer order by u.n) as places
    from unnest(v_parts) with ordinality u (part, n)
    where not u.part ? 'text'
    group by 1
  loop
    -- `#> '{}'` decompresses the result once, and not for each place.
    v_outcome := null;
    v_result := null;
    select to_jsonb(o.outcome), o.result #> '{}'
    into v_outcome, v_result
    from app.job_dependencies d
    cross join lateral (select x.outcome, x.result from app.outcomes_of(array[d.parent_id]) x) o
    where d.child_id = p_child
      and d.edge_no = v_edge.no;
    foreach v_n in array v_edge.places loop
      v_steps := array(
        select s.value
        from jsonb_array_elements_text(v_parts[v_n] -> 'steps') with ordinality s (value, n)
        where s.n > 1
        order by s.n
      );
      v_value := coalesce(
        case v_steps[1]
          when 'result' then v_result #> v_steps[2:]
          when 'status' then v_outcome #> v_steps[2:]
        end,
        v_parts[v_n] -> 'default'
      );
      if v_value is null then
        v_missing := least(v_missing, v_n);
        continue;
      end if;
      -- In the payload, the value takes at least as many bytes as this text.
      v_text := case when jsonb_typeof(v_value) = 'string' then v_value #>> '{}' else v_value::text end;
      v_bytes := v_bytes + octet_length(v_text);
      if v_bytes > v_most then
        return 'payload would have more than 256 KiB.';
      end if;
      v_texts[v_n] := case
        when v_whole[v_of[v_n]] and jsonb_typeof(v_value) = 'string' then v_value::text
        else v_text
      end;
    end loop;
  end loop;
  if v_missing is not null then
    return format(
      'payload%s needs %s, which is not there.',
      coalesce(
        (
          select string_agg('/' || replace(replace(a.value, '~', '~0'), '/', '~1'), '' order by a.n)
          from jsonb_array_elements_text(v_bindings[v_of[v_missing]] -> 'at') with ordinality a (value, n)
        ),
        ''
      ),
      v_parts[v_missing] ->> 'name'
    );
  end if;

  select app.filled_json_text(j.payload #> '{}', t.places, t.texts, 0)::jsonb
  into v_payload
  from app.jobs j, (
    select
      array_agg(v_bindings[b.binding] -> 'at' order by b.binding) as places,
      array_agg(case when v_whole[b.binding] then b.text else to_json(b.text)::text end order by b.binding) as texts
    from (
      select
        u.binding,
        string_agg(case when u.part ? 'text' then u.part ->> 'text' else u.text end, '' order by u.n) as text
      from unnest(v_of, v_parts, v_texts) with ordinality u (binding, part, text, n)
      group by u.binding
    ) b
  ) t
  where j.id = p_child;
  if octet_length(v_payload::text) > v_most then
    return 'payload would have more than 256 KiB.';
  end if;
  if jsonb_path_exists(v_payload, '$.**{33 to last}') then
    return 'payload would be nested deeper than 32 levels.';
  end if;
  update app.jobs j
  set payload = v_payload
  where j.id = p_child;
  return null;
end
$$;
revoke all on function app.render_payload(uuid) from public;
grant execute on function app.render_payload(uuid) to leasehold_web, leasehold_worker, leasehold_scheduler;
