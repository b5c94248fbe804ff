-- What the application itself publishes events about: folders that change, connections, lists.

-- How a registered folder looked when somebody last told of it. A folder without a row was not looked at yet.
create table app.provider_watches (
  tenant_id uuid not null,
  provider_id uuid not null,
  -- eight bytes for each folder in it, sorted: which of them are as they were can be told without keeping their names
  folders bytea not null check (octet_length(folders) % 8 = 0),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  changed_at timestamptz not null default app.now(),
  primary key (tenant_id, provider_id),
  foreign key (tenant_id, provider_id) references app.providers (tenant_id, id) on delete cascade
);
call app.protect_tenant_table('app.provider_watches');
grant select, insert on app.provider_watches to leasehold_web;
grant update (folders, fingerprint, changed_at) on app.provider_watches to leasehold_web;
create policy scheduler_reads on app.provider_watches for select to leasehold_scheduler using (true);
grant select (tenant_id, provider_id, fingerprint) on app.provider_watches to leasehold_scheduler;
create policy scheduler_reads on app.providers for select to leasehold_scheduler using (true);
grant select (id, tenant_id, name, path) on app.providers to leasehold_scheduler;

-- What the super admin does to a tenant is stored as its event with the change; the leading scheduler goes on with it.
create policy platform_writes on app.events for insert to leasehold_platform with check (true);
grant insert on app.events to leasehold_platform;

-- The job that makes a list, until it has filled it and told of it.
alter table app.lists add column made_in uuid;
grant update (made_in) on app.lists to leasehold_web;
