-- Suspended tenants are many in an installation of many years: a look at a lane finds the pauses that hold it by index.
create index pauses_of_all on app.pauses (scope) where scope = 'all';
create index pauses_by_queue on app.pauses (queue_id) where queue_id is not null;
create index pauses_by_definition on app.pauses (definition_id) where definition_id is not null;

create or replace function app.is_paused(p_queue integer, p_definition uuid, p_tenant uuid) returns boolean
  language sql stable parallel safe
  as $$
    select exists (select 1 from app.pauses p where p.tenant_id = p_tenant and (p.paused_until is null or p.paused_until > app.now()))
      or exists (select 1 from app.pauses p where p.queue_id = p_queue and (p.paused_until is null or p.paused_until > app.now()))
      or exists (select 1 from app.pauses p where p.definition_id = p_definition
        and (p.paused_until is null or p.paused_until > app.now()))
      or exists (select 1 from app.pauses p where p.scope = 'all' and (p.paused_until is null or p.paused_until > app.now()))
  $$;
