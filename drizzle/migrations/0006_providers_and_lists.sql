-- What the demo definitions work on: registered folders, the inventory of their files, imported lists.
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

-- path_hash stands in the keys because a path may be longer than an index row can be.
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
  -- The job that saw the file last, when, and what that job made of the row: an attempt that runs again counts the same.
  seen_in uuid not null,
  seen_at timestamptz not null default app.now(),
  change text not null default 'added' check (change in ('added', 'changed', 'unchanged')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  unique (tenant_id, provider_id, path_hash),
  foreign key (tenant_id, provider_id) references app.providers (tenant_id, id) on delete cascade
);
create index assets_by_tenant on app.assets (tenant_id, id);

create table app.lists (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  name text not null check (char_length(name) between 1 and 200),
  columns text[] not null default '{}',
  row_count bigint not null default 0,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  unique (tenant_id, id),
  unique (tenant_id, name)
);
-- line_no is the row's line in its file: an import that runs again writes the same rows, not more.
create table app.list_rows (
  tenant_id uuid not null,
  list_id uuid not null,
  line_no bigint not null check (line_no >= 1),
  data jsonb not null,
  primary key (tenant_id, list_id, line_no),
  foreign key (tenant_id, list_id) references app.lists (tenant_id, id) on delete cascade
);
