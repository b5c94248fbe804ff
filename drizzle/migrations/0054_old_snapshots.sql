-- Who keeps dead rows from being vacuumed in this database: sessions, prepared transactions and replication slots that hold
-- an old snapshot. The owner sees sessions of other roles if it is a member of pg_read_all_stats; callers see no query.
create function app.snapshot_holders() returns table (
  kind text, id text, name text, role text, state text, seconds double precision, xmin_age integer, horizon text
)
language sql stable security definer set search_path = '' as $$
  select 'session', a.pid::text, a.application_name, a.usename::text, a.state,
    extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start))::float8,
    age(coalesce(a.backend_xmin, a.backend_xid)), coalesce(a.backend_xmin, a.backend_xid)::text
  from pg_stat_activity a
  where (a.datname = current_database() or a.datname is null) and coalesce(a.backend_xmin, a.backend_xid) is not null
    and a.pid <> pg_backend_pid() and a.backend_type <> 'autovacuum worker'
    and not exists (select 1 from pg_stat_progress_vacuum v where v.pid = a.pid)
  union all
  select 'prepared transaction', p.gid, '', p.owner::text, null,
    extract(epoch from clock_timestamp() - p.prepared)::float8, age(p.transaction), p.transaction::text
  from pg_prepared_xacts p where p.database = current_database()
  union all
  -- How long a slot has had its xmin is not recorded.
  select 'replication slot', s.slot_name::text, '', null, case when s.active then 'active' else 'inactive' end, null,
    age(s.xmin), s.xmin::text
  from pg_replication_slots s where s.xmin is not null
$$;
create function app.sees_all_sessions() returns boolean
language sql stable security definer set search_path = '' as $$
  select pg_has_role(current_user, 'pg_read_all_stats', 'usage')
$$;
revoke all on function app.snapshot_holders(), app.sees_all_sessions() from public;
grant execute on function app.snapshot_holders(), app.sees_all_sessions() to leasehold_scheduler;
