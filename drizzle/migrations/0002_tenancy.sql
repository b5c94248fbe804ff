-- Who there is: tenants, people, their roles, sessions and API keys.
create table app.tenants (
  id uuid primary key default app.new_id(),
  slug text not null unique check (slug ~ '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$'),
  name text not null check (char_length(name) between 1 and 200),
  timezone text not null default 'UTC',
  status text not null default 'active' check (status in ('active', 'suspended')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);

create table app.users (
  id uuid primary key default app.new_id(),
  email text not null check (email = lower(email) and char_length(email) <= 320),
  display_name text not null default '' check (char_length(display_name) <= 200),
  password_hash text,
  must_change_password boolean not null default false,
  is_super_admin boolean not null default false,
  disabled_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  constraint users_email_key unique (email)
);

create table app.memberships (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  user_id uuid not null references app.users (id) on delete cascade,
  role text not null check (role in ('admin', 'member', 'viewer')),
  created_at timestamptz not null default app.now(),
  primary key (tenant_id, user_id)
);
create index memberships_of_user on app.memberships (user_id);

-- The cookie holds a random id; only its SHA-256 is kept here.
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
  constraint api_keys_tenant_by_kind check (
    (kind = 'tenant' and tenant_id is not null) or (kind = 'super_admin' and tenant_id is null) or kind = 'worker'),
  unique (tenant_id, id)
);

-- Failed logins per account and per address (token buckets); losing them in a crash is harmless, hence unlogged.
create unlogged table app.request_buckets (
  key text primary key check (char_length(key) <= 400),
  tokens double precision not null,
  refilled_at timestamptz not null
);
