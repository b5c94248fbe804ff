-- The schema and what every table rests on: the clock, ids, domains, and the procedures that set up row security.
-- The roles exist before this file runs (lib/db/migrate/roles.ts):
--   leasehold_web        one tenant at a time (app.current_tenant_id, set inside each transaction)
--   leasehold_worker     all tenants: claim, lease, settle; never user data
--   leasehold_scheduler  all tenants: promotion, rescue, expiry, figures, partitions
--   leasehold_platform   the super admin's pages: definitions, queues, tenants, providers, workers
--   leasehold_auth       login and key lookup, before a tenant is known
create schema app;
grant usage on schema app to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- Clock ---------------------------------------------------------------------------------------------------------------

-- The clock of every decision (due, lease, window, limit). Test databases replace it by one with an offset, so that a test
-- moves time for every process at once.
create function app.now() returns timestamptz
  language sql stable parallel safe
  as $$ select now() $$;
revoke all on function app.now() from public;
grant execute on function app.now()
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- The instant of the call; app.now() is the start of the transaction. Facts that follow from rows read or locked in the
-- transaction are stamped with it: while the transaction waits, another one may commit instants later than that start.
create function app.clock() returns timestamptz
  language sql volatile parallel safe
  as $$ select app.now() + (clock_timestamp() - now()) $$;
revoke all on function app.clock() from public;
grant execute on function app.clock() to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Ids -----------------------------------------------------------------------------------------------------------------

-- UUIDv7 (RFC 9562, 5.7): 48 bits of milliseconds, 12 bits of sub-millisecond fraction, 62 random bits.
-- Reads clock_timestamp(), never app.now(): an id must fall into today's partition whatever a test does with time.
-- One expression without FROM, so that the planner inlines it. The clock is read once, as 1/4096 ms, and the version's 7
-- is put between milliseconds and fraction.
create function app.new_id() returns uuid
  language sql volatile parallel safe
  as $$
    select (overlay(lpad(to_hex(floor(date_part('epoch', clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
      || '-' || right(gen_random_uuid()::text, 17))::uuid
  $$;
-- PostgreSQL 18 and later make ids of this form, from the same clock, in a third of the time.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    create or replace function app.new_id() returns uuid
      language sql volatile parallel safe
      as 'select pg_catalog.uuidv7()';
  end if;
end $$;
revoke all on function app.new_id() from public;
grant execute on function app.new_id()
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- Returns p_count rising ids. The first is one of app.new_id() with one random bit cleared as room to count; the others
-- count up from its random part (RFC 9562, 6.2, method 2).
create function app.new_ids(p_count integer) returns uuid[]
  language plpgsql volatile parallel safe
  as $$
  declare
    v_first text := app.new_id()::text;
    v_head text := pg_catalog.left(v_first, 19);
    v_tail bigint := ('x' || pg_catalog.replace(pg_catalog.right(v_first, 17), '-', ''))::bit(64)::bigint
      & x'DFFFFFFFFFFFFFFF'::bigint;
  begin
    return array(select (v_head || pg_catalog.to_hex(v_tail + n))::uuid
                 from pg_catalog.generate_series(0, p_count - 1) n);
  end $$;
revoke all on function app.new_ids(integer) from public;
grant execute on function app.new_ids(integer) to leasehold_web, leasehold_worker, leasehold_scheduler;

-- The smallest UUIDv7 of an instant: the bound of a partition, and the start of an id range for created_after filters.
create function app.id_floor(at timestamptz) returns uuid
  language sql immutable parallel safe
  as $$
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
  $$;
revoke all on function app.id_floor(timestamptz) from public;
grant execute on function app.id_floor(timestamptz)
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- The day (UTC) in which a UUIDv7 was made.
create function app.day_of_id(id uuid) returns date
  language sql immutable parallel safe set search_path = pg_catalog
  as $$
    select (to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
      at time zone 'UTC')::date
  $$;
revoke all on function app.day_of_id(uuid) from public;

-- Domains -------------------------------------------------------------------------------------------------------------

-- Bounds of single columns in the tables that enqueue writes. Each statement that writes a row compiles the CHECKs of the
-- table again, 3 to 20 microseconds each; a domain is compiled once in a session and refuses the same values. Rules between
-- columns of a row are CHECKs of the table.
create domain app.job_source as text check (value in ('manual', 'event', 'schedule', 'system'));
create domain app.job_priority as integer check (value between 1 and 1000);
create domain app.attempts_allowed as integer check (value between 1 and 100);
create domain app.time_limit_seconds as integer check (value between 1 and 604800);
create domain app.retry_delay_seconds as double precision check (value between 0 and 86400);
create domain app.retry_multiplier as double precision check (value between 1 and 10);
create domain app.chain_depth as smallint check (value >= 0);
create domain app.run_no as integer check (value >= 1);
create domain app.lease_no as bigint check (value >= 0);
create domain app.tally as integer check (value >= 0);
create domain app.percent as smallint check (value between 0 and 100);
create domain app.progress_message as text check (char_length(value) <= 500);
create domain app.figure_kind as text check (value in
  ('queued', 'retried', 'succeeded', 'failed', 'dead_letter', 'canceled', 'expired', 'attempt_failed'));

-- Row security --------------------------------------------------------------------------------------------------------
-- Grants say which columns, policies say which rows; both are needed, and a table without a policy for a role shows that
-- role nothing. FORCE applies the policies to the owner too.

-- The tenant of the running transaction. After COMMIT the setting is '' and not NULL, hence nullif.
create function app.current_tenant() returns uuid
  language sql stable parallel safe
  as $$ select nullif(current_setting('app.current_tenant_id', true), '')::uuid $$;
revoke all on function app.current_tenant() from public;
grant execute on function app.current_tenant()
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth;

-- Lets a migration read and change rows. The owner sees every row of the table, but only in a session whose login may act
-- as the owner. No process has such a login, so functions that run as the owner for a process still see no more.
create procedure app.open_to_migrations(tab regclass)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('create policy owner_migrates on %s for all to leasehold_owner '
      'using ((select pg_has_role(session_user, ''leasehold_owner'', ''MEMBER''))) '
      'with check ((select pg_has_role(session_user, ''leasehold_owner'', ''MEMBER'')))', tab);
  end $$;
revoke all on procedure app.open_to_migrations(regclass) from public;

-- Sets up row security for a table with a tenant_id. Every such table goes through here, so that none lacks a part. The
-- scalar sub-select lets the planner evaluate the tenant once for each statement instead of once for each row.
create procedure app.protect_tenant_table(tab regclass)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('alter table %s enable row level security', tab);
    execute format('alter table %s force row level security', tab);
    execute format('create policy tenant_rw on %s for all to leasehold_web '
      'using (tenant_id = (select app.current_tenant())) with check (tenant_id = (select app.current_tenant()))', tab);
    call app.open_to_migrations(tab);
  end $$;
revoke all on procedure app.protect_tenant_table(regclass) from public;

-- Gives a process role the rows of every tenant in a table.
create procedure app.open_to(tab regclass, role_name name)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('create policy %I on %s for all to %I using (true) with check (true)',
      replace(role_name, 'leasehold_', '') || '_all', tab, role_name);
  end $$;
revoke all on procedure app.open_to(regclass, name) from public;

-- Triggers ------------------------------------------------------------------------------------------------------------

-- Makes a table append-only, for the owner too.
create function app.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$ begin raise exception '% is append-only', tg_table_name using errcode = '42501'; end $$;
revoke all on function app.refuse_change() from public;
