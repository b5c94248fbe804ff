-- Conditions of dependencies: whether a parent satisfies an edge, and which jobs have ended or are blocked. Start with
-- app.edge_holds.

-- True if a comparison (-1, 0 or 1) satisfies gt, gte, lt or lte.
create or replace function app.order_holds(p_op text, p_compared integer)
returns boolean
language sql immutable parallel safe
as $$
  select case p_op
    when 'gt' then p_compared > 0
    when 'gte' then p_compared >= 0
    when 'lt' then p_compared < 0
    when 'lte' then p_compared <= 0
    else false
  end
$$;
revoke all on function app.order_holds(text, integer) from public;
grant execute on function app.order_holds(text, integer) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- True if a condition {steps, op, value} holds for a job that has ended. A missing value counts as null. Numbers are
-- compared with numbers and text with text (by code point); any other pair is neither greater nor less. The value is
-- read from the result once, and the result is not copied.
create or replace function app.condition_holds(p_condition jsonb, p_outcome text, p_result jsonb)
returns boolean
language plpgsql immutable parallel safe
as $$
declare
  v_op text := p_condition ->> 'op';
  v_wanted jsonb := coalesce(p_condition -> 'value', 'null');
  v_steps text[] := array(
    select s.value
    from jsonb_array_elements_text(p_condition -> 'steps') with ordinality s (value, n)
    order by s.n
  );
  v_found jsonb := coalesce(
    case v_steps[1]
      when 'result' then p_result #> v_steps[2:]
      when 'status' then to_jsonb(p_outcome) #> v_steps[2:]
    end,
    'null'
  );
begin
  case v_op
    when 'exists' then
      return (v_found <> 'null') = coalesce((p_condition ->> 'value')::boolean, true);
    when 'eq' then
      return v_found = v_wanted;
    when 'ne' then
      return v_found <> v_wanted;
    when 'in' then
      return exists (select 1 from jsonb_array_elements(v_wanted) one (value) where one.value = v_found);
    else
      if jsonb_typeof(v_found) = 'number' and jsonb_typeof(v_wanted) = 'number' then
        return app.order_holds(v_op, sign((v_found #>> '{}')::numeric - (v_wanted #>> '{}')::numeric)::integer);
      elsif jsonb_typeof(v_found) = 'string' and jsonb_typeof(v_wanted) = 'string' then
        return app.order_holds(
          v_op,
          case
            when v_found #>> '{}' = v_wanted #>> '{}' then 0
            when (v_found #>> '{}') collate "C" < (v_wanted #>> '{}') collate "C" then -1
            else 1
          end
        );
      end if;
      return false;
  end case;
end
$$;
revoke all on function app.condition_holds(jsonb, text, jsonb) from public;
grant execute on function app.condition_holds(jsonb, text, jsonb) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- True if a parent with this outcome and result satisfies an edge. An edge of type completion is always satisfied, one
-- of type conditional by its condition, one of any other type if the parent succeeded.
create or replace function app.edge_holds(p_type text, p_condition jsonb, p_outcome text, p_result jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case p_type
    when 'completion' then true
    when 'conditional' then app.condition_holds(p_condition, p_outcome, p_result)
    else p_outcome = 'succeeded'
  end
$$;
revoke all on function app.edge_holds(text, jsonb, text, jsonb) from public;
grant execute on function app.edge_holds(text, jsonb, text, jsonb) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Returns the outcome and the result of those of the given jobs that have ended. The function has no settings of its
-- own, so the planner inlines it into its caller, as long as the caller passes a plain array.
create or replace function app.outcomes_of(p_jobs uuid[])
returns table (job_id uuid, tenant_id uuid, outcome text, result jsonb)
language sql stable
as $$
  select p.id, a.tenant_id, a.outcome, a.result
  from (select distinct id from unnest(p_jobs) u (id)) p
  cross join lateral (
    select x.tenant_id, x.outcome, x.result
    from app.job_attempts x
    where x.job_id = p.id
      and x.outcome is not null
      and not x.superseded
    order by x.attempt_no desc
    limit 1
  ) a
$$;
revoke all on function app.outcomes_of(uuid[]) from public;
grant execute on function app.outcomes_of(uuid[]) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- True if the job is blocked by other jobs.
create or replace function app.is_blocked(p_job uuid)
returns boolean
language plpgsql stable
set search_path = pg_catalog, app
as $$
begin
  return exists (
    select 1
    from app.live_jobs l
    where l.job_id = p_job
      and l.state = 'blocked'
  );
end
$$;
revoke all on function app.is_blocked(uuid) from public;
grant execute on function app.is_blocked(uuid) to leasehold_web, leasehold_worker, leasehold_scheduler;
