-- Workers that come over HTTP.

-- What a worker's key may claim: these definitions, from these queues (NULL = any), of tenant_id (NULL = any tenant).
alter table app.api_keys
  add column worker_definitions text[],
  add column worker_queues text[],
  add constraint api_keys_worker_scope check (case when kind = 'worker'
    then worker_definitions is not null and cardinality(worker_definitions) between 1 and 100
      and coalesce(cardinality(worker_queues) between 1 and 100, true)
    else worker_definitions is null and worker_queues is null end);
grant select (worker_definitions, worker_queues) on app.api_keys to leasehold_platform;

-- A worker's key that is confined to one tenant is still the super admin's: the tenant neither sees, makes nor ends it.
create policy web_own_kind_only on app.api_keys as restrictive for all to leasehold_web
  using (kind = 'tenant') with check (kind = 'tenant');

-- A remote claim looks for the ready lanes of a few definitions over all tenants.
create index lanes_by_definition on app.lanes (definition_id, queue_id);
