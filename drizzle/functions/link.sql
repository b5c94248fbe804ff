-- New dependencies: parents are locked, so that no parent ends without releasing its new dependents. Start with
-- app.hold_parents.

-- Locks the given jobs of a tenant until the end of the transaction, so that none of them ends without seeing its new
-- dependents, and marks the live ones as having dependents. Returns the jobs that have already ended. p_parents has no
-- job twice. Live rows are locked in id order. Raises LH004 if a job is not of this tenant, and serialization_failure
-- if the jobs still change after 20 reads.
create or replace function app.hold_parents(p_tenant uuid, p_parents uuid[])
returns uuid[]
language plpgsql
set search_path = pg_catalog, app
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_live uuid[];
  v_rest uuid[];
  v_over uuid[];
begin
  -- A job that is neither live nor over began a new run in between, and is live by the next turn.
  for turn in 1 .. 20 loop
    select array_agg(x.job_id)
    into v_live
    from (
      select l.job_id
      from app.live_jobs l
      where l.tenant_id = p_tenant
        and l.job_id = any (p_parents)
      order by l.job_id
      for no key update
    ) x;
    v_live := coalesce(v_live, '{}');
    v_rest := array(select p.id from unnest(p_parents) p (id) where p.id <> all (v_live));
    v_over := '{}';
    if cardinality(v_rest) > 0 then
      select coalesce(array_agg(o.job_id), '{}')
      into v_over
      from app.outcomes_of(v_rest) o
      where o.tenant_id = p_tenant;
    end if;
    if cardinality(v_live) + cardinality(v_over) = cardinality(p_parents) then
      update app.live_jobs l
      set has_dependents = true
      where l.job_id = any (v_live)
        and not l.has_dependents;
      return v_over;
    end if;
    if exists (
      select 1
      from unnest(p_parents) p (id)
      where not exists (
        select 1
        from app.jobs j
        where j.id = p.id
          and j.tenant_id = p_tenant
      )
    ) then
      raise exception 'a job to wait for is missing' using errcode = 'LH004';
    end if;
  end loop;
  raise exception 'jobs to wait for change all the time' using errcode = 'serialization_failure';
end
$$;
revoke all on function app.hold_parents(uuid, uuid[]) from public;
grant execute on function app.hold_parents(uuid, uuid[]) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Blocks jobs that have just begun a new run again, if their parents did not do what they waited for. Edges of parents
-- that have ended are decided at once, so a job whose parent did not do it in its last run either ends again at once.
create or replace function app.wait_again(p_tenant uuid, p_children uuid[])
returns void
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
  v_over uuid[];
begin
  update app.job_dependencies d
  set state = 'pending'
  where d.child_id = any (p_children)
    and d.tenant_id = p_tenant
    and d.state = 'failed';
  v_parents := array(
    select distinct d.parent_id
    from app.job_dependencies d
    where d.child_id = any (p_children)
      and d.tenant_id = p_tenant
      and d.state = 'pending'
  );
  if cardinality(v_parents) = 0 then
    return;
  end if;
  v_over := app.hold_parents(p_tenant, v_parents);
  update app.live_jobs l
  set state = 'blocked', ready = false
  where l.job_id = any (p_children)
    and l.tenant_id = p_tenant
    and l.state = 'queued'
    and exists (
      select 1
      from app.job_dependencies d
      where d.child_id = l.job_id
        and d.state = 'pending'
    );
  if cardinality(v_over) > 0 then
    perform app.release_dependents(v_over);
  end if;
end
$$;
revoke all on function app.wait_again(uuid, uuid[]) from public;
grant execute on function app.wait_again(uuid, uuid[]) to leasehold_web;
