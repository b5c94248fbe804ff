-- Webhooks: where a tenant wants to hear of things, and what came of each try to tell it.

alter table app.job_definitions drop constraint job_definitions_executor_check,
  add constraint job_definitions_executor_check check (executor in ('command', 'handler', 'remote', 'webhook'));

-- Secrets and header values are stored sealed (AES-256-GCM) under a key that the database never sees. One that was
-- deleted keeps its row for the deliveries that name it, without its secrets.
create table app.webhook_endpoints (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  url text not null check (char_length(url) between 1 and 2048),
  description text not null default '' check (char_length(description) <= 500),
  event_types text[] check (cardinality(event_types) between 1 and 100),
  is_enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('manual', 'gone', 'failing')),
  secret bytea,
  previous_secret bytea,
  previous_secret_until timestamptz,
  headers bytea,
  header_names text[] not null default '{}' check (cardinality(header_names) <= 20),
  -- Since when nothing got through; NULL = the last delivery did, or there was none.
  failing_since timestamptz,
  version integer not null default 1 check (version >= 1),
  created_by uuid,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  deleted_at timestamptz,
  unique (tenant_id, id),
  constraint webhook_endpoints_secret check ((deleted_at is null) = (secret is not null)),
  constraint webhook_endpoints_previous check ((previous_secret is null) = (previous_secret_until is null)),
  constraint webhook_endpoints_headers check ((headers is null) = (cardinality(header_names) = 0)),
  constraint webhook_endpoints_disabled check (is_enabled = (disabled_reason is null))
);
call app.protect_tenant_table('app.webhook_endpoints');
grant select, insert on app.webhook_endpoints to leasehold_web;
grant update (url, description, event_types, is_enabled, disabled_reason, secret, previous_secret, previous_secret_until,
  headers, header_names, failing_since, version, updated_at, deleted_at) on app.webhook_endpoints to leasehold_web;

-- One row for each attempt to deliver. Requests and answers are kept as short redacted texts.
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
  -- NULL = the receiver took it.
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
create index webhook_deliveries_old on app.webhook_deliveries (created_at);
call app.protect_tenant_table('app.webhook_deliveries');
call app.open_to('app.webhook_deliveries', 'leasehold_scheduler');
grant select, insert on app.webhook_deliveries to leasehold_web;
grant select (id, created_at), delete on app.webhook_deliveries to leasehold_scheduler;
