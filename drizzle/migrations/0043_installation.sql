-- One row: facts about the installation that every process compares with its own settings and its database.
create table app.installation (
  only_row boolean primary key default true check (only_row),
  -- Derived from DATA_KEY; tells nothing of it. NULL until the first process stores its own.
  data_key_check bytea check (octet_length(data_key_check) = 32),
  -- Where this installation runs. Another value than app.current_home() means that the database is a restored copy.
  home text check (char_length(home) <= 100)
);
insert into app.installation default values;
grant select on app.installation to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant update (data_key_check, home) on app.installation to leasehold_worker;
grant update (home) on app.installation to leasehold_scheduler;

-- The server and the database in which the caller is. A dump that is restored elsewhere, and a copy of the database, have
-- another one. A failover to a standby keeps it.
create function app.current_home() returns text
  language plpgsql stable set search_path = pg_catalog
  as $$
  declare
    server text := 'unknown';
  begin
    begin
      select system_identifier into server from pg_control_system();
    exception when insufficient_privilege then null; -- some hosted servers keep it from everybody
    end;
    return server || '/' || (select oid from pg_database where datname = current_database());
  end $$;
revoke all on function app.current_home() from public;
grant execute on function app.current_home() to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
