-- Who did what. Append-only: application roles may insert and select, and triggers stop everyone else's statements too.
create table app.security_audit (
  id uuid primary key default app.new_id(),
  at timestamptz not null default clock_timestamp(),
  tenant_id uuid,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'system', 'anonymous')),
  actor_id uuid,
  action text not null,
  severity text not null default 'low' check (severity in ('low', 'medium', 'high', 'critical')),
  object_kind text,
  object_id text,
  success boolean not null,
  reason text,
  detail jsonb not null default '{}'::jsonb,
  request_id text,
  ip text,
  user_agent text
);
create index security_audit_by_tenant on app.security_audit (tenant_id, id desc);

-- Acts of people, keys and the scheduler on jobs; what workers did is read from job_attempts.
create table app.job_audit (
  id uuid primary key default app.new_id(),
  at timestamptz not null default clock_timestamp(),
  tenant_id uuid not null,
  job_id uuid not null,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'system')),
  actor_id uuid,
  action text not null,
  from_status text,
  to_status text,
  reason text,
  request_id text
);
create index job_audit_of_job on app.job_audit (tenant_id, job_id, id);

create function app.refuse_change() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$ begin raise exception '% is append-only', tg_table_name using errcode = '42501'; end $$;
create trigger append_only before update or delete or truncate on app.security_audit
  for each statement execute function app.refuse_change();
create trigger append_only before update or delete or truncate on app.job_audit
  for each statement execute function app.refuse_change();

-- The answer to a request that carried an Idempotency-Key, written in the transaction of what it did.
-- Platform routes have no tenant; NULLS NOT DISTINCT keeps their keys unique as well.
create table app.idempotency_keys (
  id uuid primary key default app.new_id(),
  tenant_id uuid,
  route text not null,
  key text not null check (char_length(key) between 1 and 255),
  request_hash bytea not null check (octet_length(request_hash) = 32),
  response_status integer not null,
  response_headers jsonb not null default '{}'::jsonb,
  response_body text not null,
  created_at timestamptz not null default app.now(),
  expires_at timestamptz not null,
  unique nulls not distinct (tenant_id, route, key)
);
create index idempotency_keys_expiry on app.idempotency_keys (expires_at);
