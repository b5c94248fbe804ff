-- The claim holds a suspended tenant's jobs as it holds those of a paused tenant, whatever statement changes the status.
-- The hold is a row of its own, so that a suspension leaves an operator's pause of the tenant as it is.
alter table app.pauses drop constraint pauses_scope_check, drop constraint pauses_target,
  add constraint pauses_scope_check check (scope in ('all', 'queue', 'definition', 'tenant', 'suspension')),
  add constraint pauses_target check ((scope = 'queue') = (queue_id is not null)
    and (scope = 'definition') = (definition_id is not null)
    and (scope in ('tenant', 'suspension')) = (tenant_id is not null));

-- Holds a tenant's jobs from the commit of its suspension on, and lets them go with the commit that ends it. Workers are
-- told: they give back what they claimed ahead, or look for work. Tenants change rarely, so a NOTIFY in the transaction
-- does not slow other transactions down.
create function app.hold_suspended() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$ begin
    if new.status = 'suspended' then
      insert into app.pauses (scope, tenant_id, reason) values ('suspension', new.id, 'The tenant is suspended.')
        on conflict on constraint pauses_one_for_each do nothing;
      perform pg_notify('leasehold_pauses', '*');
    else
      delete from app.pauses where scope = 'suspension' and tenant_id = new.id;
      perform pg_notify('leasehold_work', '*');
    end if;
    return null;
  end $$;
revoke all on function app.hold_suspended() from public;

create trigger holds_jobs after update on app.tenants for each row
  when (old.status is distinct from new.status) execute function app.hold_suspended();
create trigger holds_jobs_at_once after insert on app.tenants for each row
  when (new.status = 'suspended') execute function app.hold_suspended();

insert into app.pauses (scope, tenant_id, reason)
  select 'suspension', id, 'The tenant is suspended.' from app.tenants where status = 'suspended';
