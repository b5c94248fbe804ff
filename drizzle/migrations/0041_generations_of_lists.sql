-- An import writes its rows under a generation of their own, and its end makes that generation the list's. Rows of any
-- other generation belong to imports that are running, or to attempts that died.
alter table app.lists
  add column generation bigint not null default 0,
  add column last_generation bigint not null default 0;
grant update (generation, last_generation) on app.lists to leasehold_web;

alter table app.list_rows add column generation bigint not null default 0;
alter table app.list_rows drop constraint list_rows_pkey;
alter table app.list_rows add primary key (tenant_id, list_id, generation, line_no);

-- Imports that have begun and not ended. A row goes when its generation becomes the list's, or when the job that made it
-- no longer runs.
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
grant update (started_at) on app.list_imports to leasehold_web;
