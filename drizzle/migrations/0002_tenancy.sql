-- Tenants, the people in them and their rights: users, memberships, sessions, API keys, and the records of what they did.

-- Notifies all web processes when a right is taken away, by whatever statement, so that they end what that right keeps open.
-- The trigger's argument names the column with the user's id; without one, the notification is for all users. It is a hint: the
-- processes poll as well. These tables change rarely, so a NOTIFY in the transaction does not slow other transactions down.
create function app.notify_access() returns trigger language plpgsql set search_path = pg_catalog, app
  as $$ begin
    perform pg_notify('leasehold_access', coalesce(to_jsonb(old) ->> tg_argv[0], '*'));
    return null;
  end $$;
revoke all on function app.notify_access() from public;

-- Holds a tenant's jobs from the commit of its suspension on, and releases them with the commit that ends it, by whatever
-- statement the status changes. The claim treats the hold like a pause of the tenant. The hold is a row of its own in
-- app.pauses, so that a suspension leaves an operator's pause of the tenant as it is. Workers are notified: they give back
-- the jobs that they claimed ahead, or look for work. Tenants change rarely, so a NOTIFY in the transaction does not slow
-- other transactions down.
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

-- The policies named owner_checks_standing are for app.standing_of, which runs as the owner and reads what a user or a key may
-- do. They show rows only while a tenant is set. Actions that outlive their request call the function, because web itself sees
-- neither super admins nor the rights of a key.

-- Tenants -------------------------------------------------------------------------------------------------------------

-- Tenants. Each sees only its own rows. weight is a tenant's share of the workers, relative to other tenants.
create table app.tenants (
  id uuid primary key default app.new_id(),
  slug text not null unique check (slug ~ '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$'),
  name text not null check (char_length(name) between 1 and 200),
  timezone text not null default 'UTC',
  status text not null default 'active' check (status in ('active', 'suspended')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  weight double precision not null default 1 check (weight between 0.01 and 1000)
);
alter table app.tenants enable row level security;
alter table app.tenants force row level security;
call app.open_to_migrations('app.tenants');
call app.open_to('app.tenants', 'leasehold_platform');
create policy tenant_reads_itself on app.tenants for select to leasehold_web using (id = (select app.current_tenant()));
create policy auth_reads on app.tenants for select to leasehold_auth using (true);
create policy worker_reads on app.tenants for select to leasehold_worker using (true);
create policy scheduler_reads on app.tenants for select to leasehold_scheduler using (true);
create policy owner_checks_standing on app.tenants for select to leasehold_owner using (id = (select app.current_tenant()));
grant select on app.tenants to leasehold_web, leasehold_auth, leasehold_worker, leasehold_scheduler;
grant select, insert on app.tenants to leasehold_platform;
grant update (name, timezone, status, weight, updated_at) on app.tenants to leasehold_platform;
create trigger ends_access after update on app.tenants for each row
  when (old.status is distinct from new.status) execute function app.notify_access();
create trigger holds_jobs after update on app.tenants for each row
  when (old.status is distinct from new.status) execute function app.hold_suspended();
create trigger holds_jobs_at_once after insert on app.tenants for each row
  when (new.status = 'suspended') execute function app.hold_suspended();

-- Users and memberships -----------------------------------------------------------------------------------------------

-- People. A user belongs to the installation; memberships give the user a role in each tenant.
create table app.users (
  id uuid primary key default app.new_id(),
  email text not null unique check (email = lower(email) and char_length(email) <= 320),
  display_name text not null default '' check (char_length(display_name) <= 200),
  password_hash text,
  must_change_password boolean not null default false,
  is_super_admin boolean not null default false,
  disabled_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
alter table app.users enable row level security;
alter table app.users force row level security;
call app.open_to_migrations('app.users');
call app.open_to('app.users', 'leasehold_platform');
call app.open_to('app.users', 'leasehold_auth');
create policy owner_checks_standing on app.users for select to leasehold_owner
  using ((select app.current_tenant()) is not null);
-- Only auth reads password hashes.
grant select (id, email, display_name, disabled_at) on app.users to leasehold_web;
grant select on app.users to leasehold_auth;
grant update (password_hash, must_change_password, updated_at) on app.users to leasehold_auth;
grant select (id, email, display_name, must_change_password, is_super_admin, disabled_at, created_at, updated_at), insert
  on app.users to leasehold_platform;
grant update (email, display_name, password_hash, must_change_password, is_super_admin, disabled_at, updated_at)
  on app.users to leasehold_platform;
create trigger ends_access after update on app.users for each row
  when (old.disabled_at is distinct from new.disabled_at or old.is_super_admin is distinct from new.is_super_admin
    or old.must_change_password is distinct from new.must_change_password) execute function app.notify_access('id');
create trigger ends_access_deleted after delete on app.users for each row execute function app.notify_access('id');

-- The role of a user in a tenant.
create table app.memberships (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  user_id uuid not null references app.users (id) on delete cascade,
  role text not null check (role in ('admin', 'member', 'viewer')),
  created_at timestamptz not null default app.now(),
  primary key (tenant_id, user_id)
);
create index memberships_of_user on app.memberships (user_id);
call app.protect_tenant_table('app.memberships');
call app.open_to('app.memberships', 'leasehold_platform');
create policy auth_reads on app.memberships for select to leasehold_auth using (true);
create policy owner_checks_standing on app.memberships for select to leasehold_owner
  using (tenant_id = (select app.current_tenant()));
-- A tenant sees those users who are its members.
create policy members_of_tenant on app.users for select to leasehold_web using (
  exists (select 1 from app.memberships m where m.user_id = users.id and m.tenant_id = (select app.current_tenant())));
grant select on app.memberships to leasehold_web, leasehold_auth;
grant select, insert, delete on app.memberships to leasehold_platform;
grant update (role) on app.memberships to leasehold_platform;
create trigger ends_access after update on app.memberships for each row
  when (old.role is distinct from new.role) execute function app.notify_access('user_id');
create trigger ends_access_deleted after delete on app.memberships for each row execute function app.notify_access('user_id');

-- Signing in ----------------------------------------------------------------------------------------------------------

-- Signed-in browsers. The cookie holds a random id; only its SHA-256 is stored.
create table app.sessions (
  id_hash bytea primary key check (octet_length(id_hash) = 32),
  user_id uuid not null references app.users (id) on delete cascade,
  created_at timestamptz not null default app.now(),
  last_seen_at timestamptz not null default app.now(),
  idle_expires_at timestamptz not null,
  absolute_expires_at timestamptz not null,
  revoked_at timestamptz,
  ip text,
  user_agent text
);
create index sessions_of_user on app.sessions (user_id, created_at desc);
alter table app.sessions enable row level security;
alter table app.sessions force row level security;
call app.open_to_migrations('app.sessions');
call app.open_to('app.sessions', 'leasehold_auth');
create policy platform_reads on app.sessions for select to leasehold_platform using (true);
create policy platform_revokes on app.sessions for update to leasehold_platform using (true) with check (true);
-- The scheduler sees, locks and deletes sessions that expired a month ago, and can change none.
create policy scheduler_cleans on app.sessions for all to leasehold_scheduler
  using (absolute_expires_at < app.now() - interval '30 days') with check (false);
grant select, insert, delete on app.sessions to leasehold_auth;
grant update (last_seen_at, idle_expires_at, revoked_at) on app.sessions to leasehold_auth;
grant select (user_id, created_at, last_seen_at, revoked_at, ip, user_agent) on app.sessions to leasehold_platform;
grant update (revoked_at) on app.sessions to leasehold_platform;
grant select (absolute_expires_at), delete on app.sessions to leasehold_scheduler;
-- The sweep locks the rows that it deletes and changes none; a row lock takes the right to update a column.
grant update (revoked_at) on app.sessions to leasehold_scheduler;
create trigger ends_access after update on app.sessions for each row
  when (old.revoked_at is null and new.revoked_at is not null) execute function app.notify_access('user_id');
create trigger ends_access_deleted after delete on app.sessions for each row
  when (old.revoked_at is null and old.absolute_expires_at > app.now()) execute function app.notify_access('user_id');

-- Token buckets that limit failed logins, per account and per address. Losing them in a crash is harmless, hence unlogged.
create unlogged table app.request_buckets (
  key text primary key check (char_length(key) <= 400),
  tokens double precision not null,
  refilled_at timestamptz not null
);
-- Finds buckets that are full again, to delete them.
create index request_buckets_by_time on app.request_buckets (refilled_at);
grant select, insert, delete on app.request_buckets to leasehold_auth;
grant update (tokens, refilled_at) on app.request_buckets to leasehold_auth;

-- API keys ------------------------------------------------------------------------------------------------------------

-- Keys of the API. Only a hash of the secret is stored. A key of kind worker may claim jobs of worker_definitions, from
-- worker_queues (NULL: any queue), of tenant_id (NULL: any tenant).
create table app.api_keys (
  id uuid primary key default app.new_id(),
  key_id text not null unique check (key_id ~ '^[0-9A-Za-z]{12}$'),
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  last4 text not null check (char_length(last4) = 4),
  kind text not null check (kind in ('tenant', 'super_admin', 'worker')),
  tenant_id uuid references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  scopes text[] not null default '{}',
  created_by uuid not null references app.users (id) on delete cascade,
  created_at timestamptz not null default app.now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  last_used_ip text,
  worker_definitions text[],
  worker_queues text[],
  unique (tenant_id, id),
  constraint api_keys_tenant_by_kind check (
    (kind = 'tenant' and tenant_id is not null) or (kind = 'super_admin' and tenant_id is null) or kind = 'worker'),
  constraint api_keys_worker_scope check (case when kind = 'worker'
    then worker_definitions is not null and cardinality(worker_definitions) between 1 and 100
      and coalesce(cardinality(worker_queues) between 1 and 100, true)
    else worker_definitions is null and worker_queues is null end)
);
call app.protect_tenant_table('app.api_keys');
call app.open_to('app.api_keys', 'leasehold_platform');
create policy auth_reads on app.api_keys for select to leasehold_auth using (true);
create policy auth_marks_use on app.api_keys for update to leasehold_auth using (true) with check (true);
-- A worker's key that is limited to one tenant still belongs to the super admin: the tenant cannot see, create or revoke it.
create policy web_own_kind_only on app.api_keys as restrictive for all to leasehold_web
  using (kind = 'tenant') with check (kind = 'tenant');
create policy owner_checks_standing on app.api_keys for select to leasehold_owner
  using (tenant_id = (select app.current_tenant()) or (tenant_id is null and (select app.current_tenant()) is not null));
-- Only auth reads the hashes of secrets.
grant select (id, key_id, last4, kind, tenant_id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at,
  last_used_ip) on app.api_keys to leasehold_web, leasehold_platform;
grant select (worker_definitions, worker_queues) on app.api_keys to leasehold_platform;
grant insert on app.api_keys to leasehold_web, leasehold_platform;
grant update (name, expires_at, revoked_at) on app.api_keys to leasehold_web, leasehold_platform;
grant select on app.api_keys to leasehold_auth;
grant update (last_used_at, last_used_ip) on app.api_keys to leasehold_auth;
create trigger ends_access after update on app.api_keys for each row
  when (old.revoked_at is distinct from new.revoked_at or old.expires_at is distinct from new.expires_at
    or old.scopes is distinct from new.scopes) execute function app.notify_access('created_by');
create trigger ends_access_deleted after delete on app.api_keys for each row execute function app.notify_access('created_by');

-- Idempotency keys ----------------------------------------------------------------------------------------------------

-- The response to a request that carried an Idempotency-Key, written in the transaction of the request. A key belongs to the
-- principal that sent it, so that the stored response goes to no one else. Platform routes have no tenant; NULLS NOT DISTINCT
-- keeps their keys unique as well.
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
  principal text not null default '',
  constraint idempotency_keys_request unique nulls not distinct (tenant_id, principal, route, key)
);
create index idempotency_keys_expiry on app.idempotency_keys (expires_at);
call app.protect_tenant_table('app.idempotency_keys');
create policy platform_without_tenant on app.idempotency_keys for all to leasehold_platform
  using (tenant_id is null) with check (tenant_id is null);
call app.open_to('app.idempotency_keys', 'leasehold_scheduler');
grant select, insert, delete on app.idempotency_keys to leasehold_web, leasehold_platform;
grant select (id, expires_at), delete on app.idempotency_keys to leasehold_scheduler;
-- The sweep locks the rows that it deletes and changes none; a row lock takes the right to update a column.
grant update (expires_at) on app.idempotency_keys to leasehold_scheduler;

-- Security audit ------------------------------------------------------------------------------------------------------

-- Who did what. Append-only: application roles may insert and select, and the trigger stops statements of all other roles too.
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
call app.protect_tenant_table('app.security_audit');
call app.open_to('app.security_audit', 'leasehold_platform');
create policy auth_writes on app.security_audit for insert to leasehold_auth with check (true);
create policy worker_writes on app.security_audit for insert to leasehold_worker with check (true);
create policy scheduler_writes on app.security_audit for insert to leasehold_scheduler with check (true);
grant select, insert on app.security_audit to leasehold_web, leasehold_platform;
grant insert on app.security_audit to leasehold_auth, leasehold_worker, leasehold_scheduler;
create trigger append_only before update or delete or truncate on app.security_audit
  for each statement execute function app.refuse_change();

-- Installation --------------------------------------------------------------------------------------------------------

-- One row: facts about the installation that every process compares with its own settings and its database.
create table app.installation (
  only_row boolean primary key default true check (only_row),
  -- Derived from DATA_KEY and reveals nothing about it. NULL until the first process stores its own.
  data_key_check bytea check (octet_length(data_key_check) = 32),
  -- Where this installation runs. If it differs from app.current_home(), the database is a restored copy.
  home text check (char_length(home) <= 100)
);
insert into app.installation default values;
grant select on app.installation to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant update (data_key_check, home) on app.installation to leasehold_worker;
grant update (home) on app.installation to leasehold_scheduler;
