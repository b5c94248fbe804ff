-- Registered folders, the inventory of their files and imported lists, which the demo's definitions work on; and webhooks.

-- Folders and their files ---------------------------------------------------------------------------------------------

-- A folder that the super admin has registered for a tenant.
create table app.providers (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  kind text not null default 'folder' check (kind in ('folder')),
  path text not null check (path like '/%' and char_length(path) <= 4096),
  created_by uuid references app.users (id) on delete set null,
  created_at timestamptz not null default app.now(),
  unique (tenant_id, id),
  unique (tenant_id, name)
);
call app.protect_tenant_table('app.providers');
call app.open_to('app.providers', 'leasehold_platform');
create policy worker_reads on app.providers for select to leasehold_worker using (true);
create policy scheduler_reads on app.providers for select to leasehold_scheduler using (true);
grant select on app.providers to leasehold_web, leasehold_worker;
grant select (id, tenant_id, name, path) on app.providers to leasehold_scheduler;
grant select, insert on app.providers to leasehold_platform;
-- The demo's sample folders move with the installation's folder, and the seed stores where they are.
grant update (path) on app.providers to leasehold_platform;

-- The state of a folder when its last change was published, or at the first look. A folder without a row has not been looked
-- at yet.
create table app.provider_watches (
  tenant_id uuid not null,
  provider_id uuid not null,
  -- Sorted digests of eight bytes, one for each folder in it: they show which folders have changed, and store no names.
  folders bytea not null check (octet_length(folders) % 8 = 0),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  changed_at timestamptz not null default app.now(),
  primary key (tenant_id, provider_id),
  foreign key (tenant_id, provider_id) references app.providers (tenant_id, id) on delete cascade
);
call app.protect_tenant_table('app.provider_watches');
create policy scheduler_reads on app.provider_watches for select to leasehold_scheduler using (true);
grant select, insert, update (folders, fingerprint, changed_at) on app.provider_watches to leasehold_web;
grant select (tenant_id, provider_id, fingerprint) on app.provider_watches to leasehold_scheduler;

-- A file of a folder. The key has path_hash, because a path may be longer than an index row can be.
create table app.assets (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null,
  provider_id uuid not null,
  path text not null,
  path_hash bytea not null check (octet_length(path_hash) = 32),
  size bigint not null check (size >= 0),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  media_type text not null,
  modified_at timestamptz not null,
  -- The job that last saw the file, when, and what the job did to the row, so that a repeated attempt reports the same counts.
  seen_in uuid not null,
  seen_at timestamptz not null default app.now(),
  change text not null default 'added' check (change in ('added', 'changed', 'unchanged')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  unique (tenant_id, provider_id, path_hash),
  foreign key (tenant_id, provider_id) references app.providers (tenant_id, id) on delete cascade
);
create index assets_by_tenant on app.assets (tenant_id, id);
call app.protect_tenant_table('app.assets');
grant select, insert, delete on app.assets to leasehold_web;
grant update (size, sha256, media_type, modified_at, seen_in, seen_at, change, updated_at) on app.assets to leasehold_web;

-- Lists ---------------------------------------------------------------------------------------------------------------

-- An imported list. An import takes the next generation (last_generation), writes its rows under it, and at its end makes it
-- the list's generation. Rows of any other generation belong to running imports or to attempts that died.
create table app.lists (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  columns text[] not null default '{}',
  row_count bigint not null default 0,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  -- The job that creates the list, until an import has filled the list and published its event.
  made_in uuid,
  generation bigint not null default 0,
  last_generation bigint not null default 0,
  unique (tenant_id, id),
  unique (tenant_id, name)
);
call app.protect_tenant_table('app.lists');
grant select, insert, delete on app.lists to leasehold_web;
grant update (columns, row_count, updated_at, made_in, generation, last_generation) on app.lists to leasehold_web;

-- line_no is the row's line in its file.
create table app.list_rows (
  tenant_id uuid not null,
  list_id uuid not null,
  line_no bigint not null check (line_no >= 1),
  data jsonb not null,
  generation bigint not null default 0,
  primary key (tenant_id, list_id, generation, line_no),
  foreign key (tenant_id, list_id) references app.lists (tenant_id, id) on delete cascade
);
call app.protect_tenant_table('app.list_rows');
grant select, insert, update (data), delete on app.list_rows to leasehold_web;

-- Imports that are running. A row is deleted when its generation becomes the list's, or when its job no longer runs.
create table app.list_imports (
  tenant_id uuid not null,
  list_id uuid not null,
  generation bigint not null,
  job_id uuid not null,
  started_at timestamptz not null default app.now(),
  primary key (tenant_id, list_id, generation),
  foreign key (tenant_id, list_id) references app.lists (tenant_id, id) on delete cascade
);
call app.protect_tenant_table('app.list_imports');
grant select, insert, delete on app.list_imports to leasehold_web;
-- For row locks between an import and the deletion of abandoned ones; no statement changes this column.
grant update (started_at) on app.list_imports to leasehold_web;

-- Webhooks ------------------------------------------------------------------------------------------------------------

-- Where a tenant wants messages sent. Secrets and header values are stored sealed (AES-256-GCM) under a key that the database
-- never sees. A deleted endpoint keeps its row, without its secrets, for the deliveries that refer to it.
-- A replaced secret stays valid for a day, first as previous_secret, then in older_secrets (newest first), so that several
-- rotations in a day break no receiver.
create table app.webhook_endpoints (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  url text not null check (char_length(url) between 1 and 2048),
  description text not null default '' check (char_length(description) <= 500),
  -- NULL: all types.
  event_types text[] check (cardinality(event_types) between 1 and 100),
  is_enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('manual', 'gone', 'failing')),
  secret bytea,
  previous_secret bytea,
  previous_secret_until timestamptz,
  headers bytea,
  header_names text[] not null default '{}' check (cardinality(header_names) <= 20),
  -- The first failure after the last success; NULL: the last delivery succeeded, or there was none.
  failing_since timestamptz,
  version integer not null default 1 check (version >= 1),
  created_by uuid,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  deleted_at timestamptz,
  older_secrets bytea[] not null default '{}',
  older_secrets_until timestamptz[] not null default '{}',
  unique (tenant_id, id),
  constraint webhook_endpoints_secret check ((deleted_at is null) = (secret is not null)),
  constraint webhook_endpoints_previous check ((previous_secret is null) = (previous_secret_until is null)),
  constraint webhook_endpoints_older check (cardinality(older_secrets) <= 2 and
    cardinality(older_secrets) = cardinality(older_secrets_until)),
  constraint webhook_endpoints_headers check ((headers is null) = (cardinality(header_names) = 0)),
  constraint webhook_endpoints_disabled check (is_enabled = (disabled_reason is null))
);
call app.protect_tenant_table('app.webhook_endpoints');
grant select, insert on app.webhook_endpoints to leasehold_web;
grant update (url, description, event_types, is_enabled, disabled_reason, secret, previous_secret, previous_secret_until,
  headers, header_names, failing_since, version, updated_at, deleted_at, older_secrets, older_secrets_until)
  on app.webhook_endpoints to leasehold_web;

-- One row for each attempt to deliver a message. Requests and responses are short redacted texts.
create table app.webhook_deliveries (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null,
  endpoint_id uuid not null,
  job_id uuid not null,
  attempt_no integer not null check (attempt_no >= 1),
  message_id text not null,
  type text not null,
  url text not null,
  status_code integer check (status_code between 100 and 599),
  -- NULL: the receiver accepted the message.
  error_code text check (error_code ~ '^[a-z_]{1,40}$'),
  error_text text check (char_length(error_text) <= 1000),
  request text not null check (octet_length(request) <= 1024),
  response text check (octet_length(response) <= 1024),
  duration_ms integer not null check (duration_ms >= 0),
  started_at timestamptz not null,
  created_at timestamptz not null default app.now(),
  unique (tenant_id, job_id, attempt_no),
  foreign key (tenant_id, endpoint_id) references app.webhook_endpoints (tenant_id, id) on delete cascade
);
create index webhook_deliveries_of_endpoint on app.webhook_deliveries (tenant_id, endpoint_id, id desc);
-- Finds whether an endpoint was sent a message before.
create index webhook_deliveries_of_message on app.webhook_deliveries (tenant_id, endpoint_id, message_id);
-- Failures are few among the deliveries of an endpoint.
create index webhook_deliveries_failed on app.webhook_deliveries (tenant_id, endpoint_id, id desc) where error_code is not null;
create index webhook_deliveries_old on app.webhook_deliveries (created_at);
call app.protect_tenant_table('app.webhook_deliveries');
call app.open_to('app.webhook_deliveries', 'leasehold_scheduler');
grant select, insert on app.webhook_deliveries to leasehold_web;
grant select (id, created_at), delete on app.webhook_deliveries to leasehold_scheduler;
-- For the row locks of its sweep; the scheduler never changes this column.
grant update (created_at) on app.webhook_deliveries to leasehold_scheduler;
