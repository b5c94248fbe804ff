-- Jobs that wait for other jobs. An edge says what a child waits for; a child is blocked while an edge is pending.
-- What must be exact is locked first and read by a later statement: an enqueue holds its parents' live rows while it
-- looks whether they are over, and a release holds the children's before it looks what they still wait for. Locks are
-- taken in order of ids, and a child's id is always greater than its parents', so that callers cannot deadlock.
-- The functions that are called from outside pin their plans, as the worker's role does: a plan that was made while the
-- tables were small would read them whole at every step.

-- A job without a lease may also end as failed: by on_parent_failure, or because its payload could not be rendered.
create table app.job_dependencies (
  child_id uuid not null,
  edge_no smallint not null check (edge_no >= 1),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  parent_id uuid not null,
  alias text check (char_length(alias) between 1 and 100),
  type text not null check (type in ('completion', 'success', 'data', 'conditional')),
  condition jsonb,
  on_failure text not null check (on_failure in ('cancel', 'fail', 'run')),
  -- On the first data edge of a child: where its parents' results go in its payload.
  bindings jsonb,
  state text not null default 'pending' check (state in ('pending', 'met', 'failed')),
  primary key (child_id, edge_no),
  constraint job_dependencies_no_self check (child_id <> parent_id),
  constraint job_dependencies_condition_by_type check ((type = 'conditional') = (condition is not null)),
  constraint job_dependencies_bindings_by_type check (bindings is null or type = 'data')
);
create index job_dependencies_of_parent on app.job_dependencies (parent_id, child_id);
create index job_dependencies_pending on app.job_dependencies (parent_id) where state = 'pending';
create index live_jobs_blocked on app.live_jobs (job_id) where state = 'blocked';

call app.protect_tenant_table('app.job_dependencies');
call app.open_to('app.job_dependencies', 'leasehold_worker');
call app.open_to('app.job_dependencies', 'leasehold_scheduler');
-- A worker enqueues the children that an attempt asked for, and they may wait for each other.
grant select, insert on app.job_dependencies to leasehold_web, leasehold_worker;
grant select on app.job_dependencies to leasehold_scheduler;
grant update (state) on app.job_dependencies to leasehold_web, leasehold_worker, leasehold_scheduler;
-- A parent's result is written into its child's payload when the child is released.
grant update (payload) on app.jobs to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Whether a comparison (-1, 0 or 1) satisfies gt, gte, lt or lte.
create function app.order_holds(p_op text, p_compared integer) returns boolean
  language sql immutable parallel safe
  as $$ select case p_op when 'gt' then p_compared > 0 when 'gte' then p_compared >= 0
                         when 'lt' then p_compared < 0 when 'lte' then p_compared <= 0 else false end $$;

-- Whether a condition {steps, op, value} holds for a job that is over. What is missing counts as null; numbers are
-- compared with numbers and text with text (by code point), anything else is neither greater nor less.
create function app.condition_holds(p_condition jsonb, p_outcome text, p_result jsonb) returns boolean
  language sql immutable parallel safe
  as $$
    select case p_condition ->> 'op'
      when 'exists' then (v.found <> 'null') = coalesce((p_condition ->> 'value')::boolean, true)
      when 'eq' then v.found = v.wanted
      when 'ne' then v.found <> v.wanted
      when 'in' then exists (select 1 from jsonb_array_elements(v.wanted) one (value) where one.value = v.found)
      else case
        when jsonb_typeof(v.found) = 'number' and jsonb_typeof(v.wanted) = 'number' then
          app.order_holds(p_condition ->> 'op', sign((v.found #>> '{}')::numeric - (v.wanted #>> '{}')::numeric)::integer)
        when jsonb_typeof(v.found) = 'string' and jsonb_typeof(v.wanted) = 'string' then
          app.order_holds(p_condition ->> 'op', case when v.found #>> '{}' = v.wanted #>> '{}' then 0
            when (v.found #>> '{}') collate "C" < (v.wanted #>> '{}') collate "C" then -1 else 1 end)
        else false end
      end
    from (select coalesce(jsonb_build_object('status', p_outcome, 'result', p_result)
                          #> array(select jsonb_array_elements_text(p_condition -> 'steps')), 'null') as found,
                 coalesce(p_condition -> 'value', 'null') as wanted) v
  $$;

create function app.edge_holds(p_type text, p_condition jsonb, p_outcome text, p_result jsonb) returns boolean
  language sql immutable parallel safe
  as $$ select case p_type when 'completion' then true
                           when 'conditional' then app.condition_holds(p_condition, p_outcome, p_result)
                           else p_outcome = 'succeeded' end $$;

-- Which of the given jobs are over, and how. Without settings of its own, so that it is planned with its caller, as long
-- as it is called with a plain array.
create function app.outcomes_of(p_jobs uuid[])
  returns table (job_id uuid, tenant_id uuid, outcome text, result jsonb)
  language sql stable
  as $$
    select p.id, a.tenant_id, a.outcome, a.result
    from (select distinct id from unnest(p_jobs) u (id)) p
    cross join lateral (select x.tenant_id, x.outcome, x.result from app.job_attempts x
      where x.job_id = p.id and x.outcome is not null and not x.superseded order by x.attempt_no desc limit 1) a
  $$;

-- Puts its parents' results into a child's payload. NULL = done; otherwise what kept it from being rendered.
-- Where the values go was worked out when the job was enqueued (bindings), so nothing is parsed here.
create function app.render_payload(p_child uuid) returns text
  language plpgsql set search_path = pg_catalog, app
  as $$
  declare
    v_bindings jsonb; v_context jsonb; v_payload jsonb; v_binding jsonb; v_part jsonb; v_value jsonb; v_text text; v_at text[];
  begin
    select d.bindings into v_bindings from app.job_dependencies d where d.child_id = p_child and d.bindings is not null;
    if v_bindings is null then return null; end if;
    select jsonb_object_agg(d.edge_no::text, jsonb_strip_nulls(jsonb_build_object('status', o.outcome))
        || case when o.result is null then '{}'::jsonb else jsonb_build_object('result', o.result) end)
      into v_context
      from app.job_dependencies d
      cross join lateral (select x.outcome, x.result from app.outcomes_of(array[d.parent_id]) x) o
      where d.child_id = p_child;
    select j.payload into v_payload from app.jobs j where j.id = p_child;
    for v_binding in select b.value from jsonb_array_elements(v_bindings) b (value) loop
      v_at := array(select jsonb_array_elements_text(v_binding -> 'at'));
      v_text := '';
      for v_part in select p.value from jsonb_array_elements(v_binding -> 'parts') with ordinality p (value, n) order by p.n loop
        if v_part ? 'text' then
          v_value := v_part -> 'text';
        else
          v_value := coalesce(v_context #> array(select jsonb_array_elements_text(v_part -> 'steps')), v_part -> 'default');
          if v_value is null then
            return format('payload%s needs %s, which is not there.',
              coalesce((select string_agg('/' || replace(replace(a, '~', '~0'), '/', '~1'), '' order by n)
                        from unnest(v_at) with ordinality u (a, n)), ''), v_part ->> 'name');
          end if;
        end if;
        v_text := v_text || case when jsonb_typeof(v_value) = 'string' then v_value #>> '{}' else v_value::text end;
      end loop;
      if not (v_binding -> 'whole')::boolean then v_value := to_jsonb(v_text); end if;
      v_payload := case when cardinality(v_at) = 0 then v_value else jsonb_set(v_payload, v_at, v_value, false) end;
    end loop;
    if octet_length(v_payload::text) > 262144 then return 'payload would have more than 256 KiB.'; end if;
    if jsonb_path_exists(v_payload, '$.**{33 to last}') then return 'payload would be nested deeper than 32 levels.'; end if;
    update app.jobs j set payload = v_payload where j.id = p_child;
    return null;
  end $$;

-- Ends blocked jobs, which the caller has locked, without a lease, as `p_ends` [{id, outcome, error_type, error_text}] says.
create function app.end_blocked(p_ends jsonb) returns table (job_id uuid, lane_no integer, has_dependents boolean)
  language plpgsql set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  begin
    return query with asked as materialized (
      select l.tid, x.outcome, x.error_type, x.error_text
      from jsonb_to_recordset(p_ends) as x (id uuid, outcome text, error_type text, error_text text)
      cross join lateral (select y.ctid as tid from app.live_jobs y where y.job_id = x.id and y.state = 'blocked' offset 0) l
    ), ended as (
      delete from app.live_jobs l using asked x where l.ctid = x.tid
      returning l.*, x.outcome, x.error_type, x.error_text
    ), attempt as (
      insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at,
        attempt_count, error_type, error_text)
      select e.job_id, e.lease_no + 1, e.tenant_id, e.run_no, e.outcome, app.now(), e.outcome, e.started_at, e.attempts_spent,
        e.error_type, e.error_text from ended e
    ), freed as (
      delete from app.dedupe_keys k using ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
        and k.job_id = e.job_id and (k.held_until is null or k.held_until <= app.now())
    ), kept as (
      update app.dedupe_keys k set live = false from ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
        and k.job_id = e.job_id and k.held_until > app.now()
    ), counted as (
      insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
      select e.tenant_id, l.definition_id, app.now(), e.outcome, count(*)
      from ended e join app.lanes l on l.lane_no = e.lane_no group by 1, 2, 4
    )
    select e.job_id, e.lane_no, e.has_dependents from ended e;
  end $$;

create function app.is_blocked(p_job uuid) returns boolean
  language plpgsql stable set search_path = pg_catalog, app
  as $$
  begin
    return exists (select 1 from app.live_jobs l where l.job_id = p_job and l.state = 'blocked');
  end $$;

-- The blocked jobs that the end of these parents reaches, and `p_children`: those that it ends (with the outcome, and the
-- edge that did it), through which it reaches further ones, and those that it only tells something (outcome NULL).
create function app.reached_from(p_parents uuid[], p_children uuid[])
  returns table (child_id uuid, outcome text, type text, parent_id uuid)
  language plpgsql stable set search_path = pg_catalog, app
  as $$
  #variable_conflict use_column
  begin
    return query with recursive edge (child_id, type, parent_id, holds, on_failure) as (
      select d.child_id, d.type, d.parent_id, app.edge_holds(d.type, d.condition, o.outcome, o.result), d.on_failure
      from app.outcomes_of(p_parents) o
      cross join lateral (select * from app.job_dependencies x
        where x.parent_id = o.job_id and x.tenant_id = o.tenant_id and x.state = 'pending' offset 0) d
      where app.is_blocked(d.child_id)
      union
      select d.child_id, d.type, d.parent_id, d.state <> 'failed', d.on_failure
      from unnest(p_children) c (id)
      cross join lateral (select * from app.job_dependencies x where x.child_id = c.id offset 0) d
      where app.is_blocked(d.child_id)
      union
      select d.child_id, d.type, d.parent_id,
        app.edge_holds(d.type, d.condition, case e.on_failure when 'fail' then 'failed' else 'canceled' end, null), d.on_failure
      from edge e
      cross join lateral (select * from app.job_dependencies x where x.parent_id = e.child_id and x.state = 'pending' offset 0) d
      where not e.holds and e.on_failure <> 'run' and app.is_blocked(d.child_id)
    )
    select distinct on (e.child_id) e.child_id,
      case when e.holds or e.on_failure = 'run' then null when e.on_failure = 'fail' then 'failed' else 'canceled' end,
      e.type, e.parent_id
    from edge e order by e.child_id, e.holds or e.on_failure = 'run', e.parent_id;
  end $$;

-- Locks those of the given jobs that are blocked, in order of ids, and answers them.
create function app.lock_blocked(p_jobs uuid[]) returns uuid[]
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    return array(select x.job_id from (
      select l.job_id from app.live_jobs l where l.job_id = any (p_jobs) and l.state = 'blocked'
      order by l.job_id for no key update) x);
  end $$;

-- Tells the children of jobs that are over: who waits for nothing more becomes queued, who waited for something that
-- will not come ends by its on_parent_failure, and so on down the graph. Belongs into the transaction in which the
-- parents ended, after the statement that ended them. Also looks at `p_children` themselves, whatever their parents did.
-- Answers the lanes in which something changed. A child that somebody else holds is waited for only shortly: whoever
-- enqueues for it in a transaction of the application's must not keep a worker's whole batch from being settled.
create function app.release_dependents(p_parents uuid[], p_children uuid[] default '{}') returns integer[]
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  set lock_timeout = '1s'
  as $$
  declare
    v_reached uuid[]; v_children uuid[]; v_done uuid[]; v_ended uuid[]; v_over uuid[]; v_ends jsonb; v_failed jsonb; v_lanes integer[] := '{}';
    v_more integer[]; v_child uuid; v_problem text;
  begin
    loop
      -- Who was enqueued for one of them before its lock was ours is found by looking again.
      v_children := '{}';
      loop
        select coalesce(array_agg(r.child_id), '{}'), coalesce(array_agg(r.child_id) filter (where r.outcome is not null), '{}'),
            coalesce(jsonb_agg(jsonb_build_object('id', r.child_id, 'outcome', r.outcome,
              'error_type', case r.type when 'conditional' then 'condition_not_met' else 'parent_failed' end,
              'error_text', case r.type when 'conditional' then format('The condition on job %s was not met.', r.parent_id)
                else format('Job %s, for which it waited, did not succeed.', r.parent_id) end)) filter (where r.outcome is not null), '[]')
          into v_reached, v_ended, v_ends
          from app.reached_from(p_parents, p_children) r;
        exit when not exists (select unnest(v_reached) except select unnest(v_children));
        v_children := app.lock_blocked(v_reached || v_children);
      end loop;
      exit when cardinality(v_children) = 0;

      select coalesce(array_agg(distinct e.lane_no), '{}') into v_more from app.end_blocked(v_ends) e;
      v_lanes := v_lanes || v_more;

      v_over := p_parents || v_ended;
      with decided as materialized (
        select d.ctid as tid, case when app.edge_holds(d.type, d.condition, o.outcome, o.result) then 'met' else 'failed' end as state
        from app.outcomes_of(v_over) o
        cross join lateral (select x.ctid, x.* from app.job_dependencies x where x.parent_id = o.job_id
          and x.tenant_id = o.tenant_id and x.state = 'pending' and x.child_id = any (v_children) offset 0) d
      )
      update app.job_dependencies d set state = x.state from decided x where d.ctid = x.tid;

      v_done := array(
        select c.id from unnest(v_children) c (id) where app.is_blocked(c.id)
          and not exists (select 1 from app.job_dependencies d where d.child_id = c.id
            and (d.state = 'pending' or (d.state = 'failed' and d.on_failure <> 'run')) offset 0)
        order by 1);
      v_failed := '[]';
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
      v_lanes := v_lanes || v_more;

      -- Who could not be rendered is over, too, and its own children have to be told.
      exit when v_failed = '[]';
      select array_agg(e.job_id), array_agg(distinct e.lane_no) into p_parents, v_more from app.end_blocked(v_failed) e;
      update app.job_dependencies d set state = 'failed' where d.child_id = any (p_parents) and d.type = 'data';
      v_lanes := v_lanes || v_more;
      p_children := '{}';
    end loop;
    return array(select distinct l from unnest(v_lanes) u (l));
  end $$;

-- Keeps the given jobs of a tenant from ending unseen until the transaction is over, marks that somebody waits for them,
-- and answers those that are over already. Raises LH004 when one is not a job of this tenant.
create function app.hold_parents(p_tenant uuid, p_parents uuid[]) returns uuid[]
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_live uuid[]; v_rest uuid[]; v_over uuid[];
  begin
    -- Who is neither live nor over began a new run in between, and is live by the next turn.
    for turn in 1 .. 20 loop
      select array_agg(x.job_id) into v_live from (
        select l.job_id from app.live_jobs l where l.tenant_id = p_tenant and l.job_id = any (p_parents)
        order by l.job_id for no key update) x;
      v_live := coalesce(v_live, '{}');
      v_rest := array(select p.id from unnest(p_parents) p (id) where p.id <> all (v_live));
      v_over := '{}';
      if cardinality(v_rest) > 0 then
        select coalesce(array_agg(o.job_id), '{}') into v_over from app.outcomes_of(v_rest) o where o.tenant_id = p_tenant;
      end if;
      if cardinality(v_live) + cardinality(v_over) = cardinality(p_parents) then
        update app.live_jobs l set has_dependents = true where l.job_id = any (v_live) and not l.has_dependents;
        return v_over;
      end if;
      if exists (select 1 from unnest(p_parents) p (id) where not exists (
        select 1 from app.jobs j where j.id = p.id and j.tenant_id = p_tenant)) then
        raise exception 'a job to wait for is missing' using errcode = 'LH004';
      end if;
    end loop;
    raise exception 'jobs to wait for change all the time' using errcode = 'serialization_failure';
  end $$;

-- Records what new, blocked jobs wait for, and releases or ends those that wait for nothing that is still to come.
-- Called by enqueue_jobs after its inserts. An edge: {child_id, edge_no, parent_id, alias, type, condition, on_failure, bindings}.
create function app.link_dependencies(p_tenant uuid, p_edges jsonb) returns void
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_over uuid[];
  begin
    v_over := app.hold_parents(p_tenant, array(
      select distinct (e.value ->> 'parent_id')::uuid from jsonb_array_elements(p_edges) e (value)));
    insert into app.job_dependencies (child_id, edge_no, tenant_id, parent_id, alias, type, condition, on_failure, bindings)
      select x.child_id, x.edge_no, p_tenant, x.parent_id, x.alias, x.type, x.condition, x.on_failure, x.bindings
      from jsonb_to_recordset(p_edges) as x (child_id uuid, edge_no smallint, parent_id uuid, alias text, type text,
        condition jsonb, on_failure text, bindings jsonb);
    if cardinality(v_over) > 0 then perform app.release_dependents(v_over); end if;
  end $$;

-- For jobs that just began a new run: those whose parents had not done what they waited for wait again. Their parents
-- are looked at anew, so a child whose parent is over and still not good ends again at once.
create function app.wait_again(p_tenant uuid, p_children uuid[]) returns void
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_parents uuid[]; v_over uuid[];
  begin
    update app.job_dependencies d set state = 'pending' where d.child_id = any (p_children) and d.tenant_id = p_tenant and d.state = 'failed';
    v_parents := array(select distinct d.parent_id from app.job_dependencies d
      where d.child_id = any (p_children) and d.tenant_id = p_tenant and d.state = 'pending');
    if cardinality(v_parents) = 0 then return; end if;
    v_over := app.hold_parents(p_tenant, v_parents);
    update app.live_jobs l set state = 'blocked', ready = false
      where l.job_id = any (p_children) and l.tenant_id = p_tenant and l.state = 'queued' and exists (
        select 1 from app.job_dependencies d where d.child_id = l.job_id and d.state = 'pending');
    if cardinality(v_over) > 0 then perform app.release_dependents(v_over); end if;
  end $$;

-- Heals what should not be: looks at up to `p_limit` blocked jobs after `p_after`, and releases those that wait for
-- nothing that is still to come. `last` is where the next call goes on, NULL at the end.
create function app.sweep_dependents(p_after uuid, p_limit integer)
  returns table (last uuid, healed integer, lanes integer[])
  language plpgsql set search_path = pg_catalog, app
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare v_children uuid[]; v_free uuid[]; v_over uuid[]; v_stuck uuid[];
  begin
    v_children := array(select l.job_id from app.live_jobs l where l.state = 'blocked' and l.job_id > p_after
      order by l.job_id limit p_limit);
    v_free := array(select c.id from unnest(v_children) c (id) where not exists (
      select 1 from app.job_dependencies d where d.child_id = c.id and d.state = 'pending'));
    v_over := array(select d.parent_id from unnest(v_children) c (id) cross join lateral (
      select x.parent_id from app.job_dependencies x where x.child_id = c.id and x.state = 'pending' offset 0) d);
    v_over := array(select o.job_id from app.outcomes_of(v_over) o);
    lanes := '{}'; healed := 0;
    if cardinality(v_free) + cardinality(v_over) > 0 then
      lanes := app.release_dependents(v_over, v_free);
      healed := (select count(*) from unnest(v_children) c (id) where not app.is_blocked(c.id));
    end if;
    last := case when cardinality(v_children) = p_limit then v_children[p_limit] end;
    return next;
  end $$;

revoke all on function app.condition_holds(jsonb, text, jsonb), app.order_holds(text, integer),
  app.edge_holds(text, jsonb, text, jsonb), app.outcomes_of(uuid[]), app.render_payload(uuid), app.end_blocked(jsonb),
  app.reached_from(uuid[], uuid[]), app.is_blocked(uuid), app.lock_blocked(uuid[]), app.release_dependents(uuid[], uuid[]),
  app.hold_parents(uuid, uuid[]), app.link_dependencies(uuid, jsonb), app.wait_again(uuid, uuid[]),
  app.sweep_dependents(uuid, integer) from public;
grant execute on function app.condition_holds(jsonb, text, jsonb), app.order_holds(text, integer),
  app.edge_holds(text, jsonb, text, jsonb), app.outcomes_of(uuid[]), app.render_payload(uuid), app.end_blocked(jsonb),
  app.reached_from(uuid[], uuid[]), app.is_blocked(uuid), app.lock_blocked(uuid[]), app.release_dependents(uuid[], uuid[])
  to leasehold_web, leasehold_worker, leasehold_scheduler;
grant execute on function app.hold_parents(uuid, uuid[]), app.link_dependencies(uuid, jsonb) to leasehold_web, leasehold_worker;
grant execute on function app.wait_again(uuid, uuid[]) to leasehold_web;
grant execute on function app.sweep_dependents(uuid, integer) to leasehold_scheduler;
