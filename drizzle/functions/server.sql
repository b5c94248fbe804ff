-- The database's server and sessions. Start with app.snapshot_holders.

-- Returns the home of the data: the server and the database of the caller. A dump that is restored elsewhere and a copy
-- of the database have another home; a failover to a standby keeps it.
create or replace function app.current_home()
returns text
language plpgsql stable
set search_path = pg_catalog
as $$
declare
  server text := 'unknown';
begin
  begin
    select system_identifier into server from pg_control_system();
  exception when insufficient_privilege then
    null; -- some hosted servers let no login read it
  end;
  return server || '/' || (select oid from pg_database where datname = current_database());
end
$$;
revoke all on function app.current_home() from public;
grant execute on function app.current_home() to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;

-- Returns what keeps dead rows in this database from being vacuumed: sessions, prepared transactions and replication
-- slots that hold an old snapshot. The owner sees sessions of other roles if it is a member of pg_read_all_stats. The
-- result includes no query text.
create or replace function app.snapshot_holders()
returns table (
  kind text,
  id text,
  name text,
  role text,
  state text,
  seconds double precision,
  xmin_age integer,
  horizon text
)
language sql stable security definer
set search_path = pg_catalog, app
as $$
  select
    'session',
    a.pid::text,
    a.application_name,
    a.usename::text,
    a.state,
    extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start))::float8,
    age(coalesce(a.backend_xmin, a.backend_xid)),
    coalesce(a.backend_xmin, a.backend_xid)::text
  from pg_stat_activity a
  where (a.datname = current_database() or a.datname is null)
    and coalesce(a.backend_xmin, a.backend_xid) is not null
    and a.pid <> pg_backend_pid()
    and a.backend_type <> 'autovacuum worker'
    and not exists (select 1 from pg_stat_progress_vacuum v where v.pid = a.pid)
  union all
  select
    'prepared transaction',
    p.gid,
    '',
    p.owner::text,
    null,
    extract(epoch from clock_timestamp() - p.prepared)::float8,
    age(p.transaction),
    p.transaction::text
  from pg_prepared_xacts p
  where p.database = current_database()
  union all
  -- The server does not record how long a slot has had its xmin.
  select
    'replication slot',
    s.slot_name::text,
    '',
    null,
    case when s.active then 'active' else 'inactive' end,
    null,
    age(s.xmin),
    s.xmin::text
  from pg_replication_slots s
  where s.xmin is not null
$$;
revoke all on function app.snapshot_holders() from public;
grant execute on function app.snapshot_holders() to leasehold_scheduler;

-- True if app.snapshot_holders sees the sessions of other roles.
create or replace function app.sees_all_sessions()
returns boolean
language sql stable security definer
set search_path = pg_catalog, app
as $$
  select pg_has_role(current_user, 'pg_read_all_stats', 'usage')
$$;
revoke all on function app.sees_all_sessions() from public;
grant execute on function app.sees_all_sessions() to leasehold_scheduler;
