-- The instant at which it is called, by the clock that app.now() reads at the start of the transaction. What follows
-- from rows that were read or locked is stamped with it: a transaction may begin, wait, and then see what another one
-- committed meanwhile, whose instants are later than this one's start.
create function app.clock() returns timestamptz
  language sql volatile parallel safe
  as $$ select app.now() + (clock_timestamp() - now()) $$;
revoke all on function app.clock() from public;
grant execute on function app.clock() to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Ends blocked jobs with the given outcomes, as the statements that end other jobs do. The instant of each end is read
-- after its live row was taken.
create or replace function app.end_blocked(p_ends jsonb) returns table (job_id uuid, lane_no integer, has_dependents boolean)
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
    select e.job_id, e.lease_no + 1, e.tenant_id, e.run_no, e.outcome, app.clock(), e.outcome, e.started_at, e.attempts_spent,
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
  ), told as (
    insert into app.events (tenant_id, name, data, source, caused_by_job_id, status)
    select e.tenant_id, 'job.' || e.outcome, jsonb_build_object('job_id', e.job_id, 'run_no', e.run_no), 'job', e.job_id, 'pending'
    from ended e join app.job_listeners k on k.tenant_id = e.tenant_id and 'job.' || e.outcome = any (k.event_names)
  )
  select e.job_id, e.lane_no, e.has_dependents from ended e;
end
$$;
