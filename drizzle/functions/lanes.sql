-- Lanes: a claim chooses between lanes. A lane is (tenant, queue, definition, band). Start with app.make_lane.

-- Returns the band of a priority: 0 critical, 1 high, 2 normal, 3 low, 4 background.
create or replace function app.band_of(priority integer)
returns smallint
language sql immutable parallel safe
as $$
  select (
    case
      when priority <= 25 then 0
      when priority <= 50 then 1
      when priority <= 150 then 2
      when priority <= 200 then 3
      else 4
    end
  )::smallint
$$;
revoke all on function app.band_of(integer) from public;
grant execute on function app.band_of(integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- Returns the position of a job in its lane; the smallest key is claimed first. Jobs age without writes: ten minutes of
-- waiting are worth one point of priority. Stable, as extract is, so that the planner can inline the expression.
create or replace function app.sort_key_of(scheduled_for timestamptz, priority integer)
returns double precision
language sql stable parallel safe
as $$
  select extract(epoch from scheduled_for)::double precision / 600 + priority
$$;
revoke all on function app.sort_key_of(timestamptz, integer) from public;
grant execute on function app.sort_key_of(timestamptz, integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- Returns the lane of (tenant, queue, definition, band of the priority), and creates it if it does not exist. NULL
-- stands for the definition's queue and for the queue's default priority. Checks the values of a new job, and raises
--   LH001 if the tenant is missing or suspended,
--   LH002 if the definition changed or was disabled since the caller read it: the caller reads it again, validates the
--         payload again and retries,
--   LH003 if there is no active queue of this name.
create or replace function app.make_lane(
  p_tenant uuid,
  p_definition uuid,
  p_version integer,
  p_queue text,
  p_priority integer
)
returns integer
language plpgsql
set search_path = pg_catalog, app
as $$
declare
  v_queue integer;
  v_band smallint;
  v_lane integer;
begin
  if not exists (
    select 1
    from app.tenants t
    where t.id = p_tenant
      and t.status = 'active'
  ) then
    raise exception 'tenant is missing or suspended' using errcode = 'LH001';
  end if;
  select
    case when p_queue is null then d.queue_id else q.id end,
    app.band_of(coalesce(p_priority, own.default_priority))
  into v_queue, v_band
  from app.job_definitions d
  left join app.job_queues q on q.name = p_queue and q.is_active
  left join app.job_queues own on own.id = case when p_queue is null then d.queue_id else q.id end
  where d.id = p_definition
    and d.version = p_version
    and d.is_active;
  if not found then
    raise exception 'a definition changed or is not active' using errcode = 'LH002';
  end if;
  if v_queue is null then
    raise exception 'there is no active queue of this name' using errcode = 'LH003';
  end if;
  insert into app.lanes (tenant_id, queue_id, definition_id, band)
  values (p_tenant, v_queue, p_definition, v_band)
  on conflict do nothing
  returning lane_no into v_lane;
  if v_lane is null then
    select l.lane_no
    into v_lane
    from app.lanes l
    where l.tenant_id = p_tenant
      and l.queue_id = v_queue
      and l.definition_id = p_definition
      and l.band = v_band;
  end if;
  return v_lane;
end
$$;
revoke all on function app.make_lane(uuid, uuid, integer, text, integer) from public;
grant execute on function app.make_lane(uuid, uuid, integer, text, integer)
  to leasehold_web, leasehold_worker, leasehold_scheduler;
