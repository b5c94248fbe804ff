-- Queues' own settings, pauses and exact limits.

-- What a queue says for jobs that come into it: a job's own value comes first, then its definition's, then the
-- queue's. NULL = the queue says nothing. version rises with every change, so that workers notice.
alter table app.job_queues
  add column default_priority integer not null default 100 check (default_priority between 1 and 1000),
  add column timeout_seconds integer check (timeout_seconds between 1 and 604800),
  add column max_attempts integer check (max_attempts between 1 and 100),
  add column retry_delay_seconds double precision check (retry_delay_seconds between 0 and 86400),
  add column retry_multiplier double precision check (retry_multiplier between 1 and 10),
  add column weight double precision not null default 1 check (weight between 0.01 and 1000),
  add column version integer not null default 1 check (version >= 1);
grant update (default_priority, timeout_seconds, max_attempts, retry_delay_seconds, retry_multiplier, weight, version)
  on app.job_queues to leasehold_platform;
insert into app.job_queues (name, description, timeout_seconds, max_attempts, retry_multiplier) values
  ('email-sending', 'Delivery of email campaigns', 3600, 3, 2),
  ('analytics-processing', 'Aggregation of analytics', 3600, 3, 2),
  ('content-archival', 'Clean-up of old content', 3600, 3, 2),
  ('infrastructure-monitoring', 'Health checks of systems', 3600, 3, 2),
  ('billing-sync', 'Synchronization with the payment provider', 3600, 3, 2),
  ('notification-delivery', 'Delivery of notifications to people', 3600, 3, 2);

-- A tenant's share of the workers, against the other tenants'.
alter table app.tenants add column weight double precision not null default 1 check (weight between 0.01 and 1000);
grant update (weight) on app.tenants to leasehold_platform;

-- What is not started for now. A pause whose end has passed is none: nobody has to take it away.
create table app.pauses (
  id uuid primary key default app.new_id(),
  scope text not null check (scope in ('all', 'queue', 'definition', 'tenant')),
  queue_id integer references app.job_queues (id) on delete cascade,
  definition_id uuid references app.job_definitions (id) on delete cascade,
  tenant_id uuid references app.tenants (id) on delete cascade,
  reason text not null check (char_length(reason) between 1 and 500),
  paused_at timestamptz not null default app.now(),
  paused_until timestamptz,
  paused_by uuid references app.users (id) on delete set null,
  constraint pauses_target check ((scope = 'queue') = (queue_id is not null)
    and (scope = 'definition') = (definition_id is not null) and (scope = 'tenant') = (tenant_id is not null)),
  constraint pauses_one_for_each unique nulls not distinct (tenant_id, scope, queue_id, definition_id)
);
call app.protect_tenant_table('app.pauses');
create policy web_reads_common on app.pauses for select to leasehold_web
  using (tenant_id is null and (select app.current_tenant()) is not null);
call app.open_to('app.pauses', 'leasehold_platform');
create policy worker_reads on app.pauses for select to leasehold_worker using (true);
grant select (id, scope, queue_id, definition_id, tenant_id, reason, paused_at, paused_until) on app.pauses to leasehold_web;
grant select on app.pauses to leasehold_worker;
grant select, insert, delete on app.pauses to leasehold_platform;
grant update (reason, paused_at, paused_until, paused_by) on app.pauses to leasehold_platform;

-- Whether jobs of this queue, definition and tenant may not be started just now.
create function app.is_paused(p_queue integer, p_definition uuid, p_tenant uuid) returns boolean
  language sql stable parallel safe
  as $$
    select exists (select 1 from app.pauses p where (p.paused_until is null or p.paused_until > app.now())
      and (p.scope = 'all' or p.queue_id = p_queue or p.definition_id = p_definition or p.tenant_id = p_tenant))
  $$;
revoke all on function app.is_paused(integer, uuid, uuid) from public;
grant execute on function app.is_paused(integer, uuid, uuid) to leasehold_web, leasehold_worker;
