-- Row security is forced, so the owner of the tables saw no rows, and a data fix in a migration changed none. The owner now
-- sees every row, but only in a session whose login may act as the owner: one that migrates. No process has such a login, so
-- functions that run as the owner on behalf of a process still see nothing more.
create procedure app.open_to_migrations(tab regclass)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('create policy owner_migrates on %s for all to leasehold_owner '
      'using ((select pg_has_role(session_user, ''leasehold_owner'', ''MEMBER''))) '
      'with check ((select pg_has_role(session_user, ''leasehold_owner'', ''MEMBER'')))', tab);
  end $$;
revoke all on procedure app.open_to_migrations(regclass) from public;

create or replace procedure app.protect_tenant_table(tab regclass)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('alter table %s enable row level security', tab);
    execute format('alter table %s force row level security', tab);
    execute format('create policy tenant_rw on %s for all to leasehold_web '
      'using (tenant_id = (select app.current_tenant())) with check (tenant_id = (select app.current_tenant()))', tab);
    call app.open_to_migrations(tab);
  end $$;

do $$
declare tab regclass;
begin
  for tab in select oid::regclass from pg_class
    where relnamespace = 'app'::regnamespace and relforcerowsecurity and not relispartition order by relname
  loop
    call app.open_to_migrations(tab);
  end loop;
end $$;
