-- Pauses and limits, which keep ready jobs from being claimed, and the state that claimers share: reservations under limits,
-- and each tenant's usage.

-- Pauses --------------------------------------------------------------------------------------------------------------

-- A pause keeps jobs from being claimed: all jobs, or those of a queue, a definition or a tenant. A row whose paused_until has
-- passed has no effect and need not be deleted. app.hold_suspended keeps a row of scope 'suspension' for each suspended tenant.
-- That row is separate, so that a suspension leaves an operator's pause of the tenant unchanged.
create table app.pauses (
  id uuid primary key default app.new_id(),
  scope text not null check (scope in ('all', 'queue', 'definition', 'tenant', 'suspension')),
  queue_id integer references app.job_queues (id) on delete cascade,
  definition_id uuid references app.job_definitions (id) on delete cascade,
  tenant_id uuid references app.tenants (id) on delete cascade,
  reason text not null check (char_length(reason) between 1 and 500),
  paused_at timestamptz not null default app.now(),
  paused_until timestamptz,
  paused_by uuid references app.users (id) on delete set null,
  constraint pauses_target check ((scope = 'queue') = (queue_id is not null)
    and (scope = 'definition') = (definition_id is not null)
    and (scope in ('tenant', 'suspension')) = (tenant_id is not null)),
  constraint pauses_one_for_each unique nulls not distinct (tenant_id, scope, queue_id, definition_id)
);
-- app.is_paused looks up each kind of target by an index; the unique constraint serves tenants. An installation of many years
-- has many suspended tenants, and a lookup must not read all of them.
create index pauses_of_all on app.pauses (scope) where scope = 'all';
create index pauses_by_queue on app.pauses (queue_id) where queue_id is not null;
create index pauses_by_definition on app.pauses (definition_id) where definition_id is not null;
call app.protect_tenant_table('app.pauses');
create policy web_reads_common on app.pauses for select to leasehold_web
  using (tenant_id is null and (select app.current_tenant()) is not null);
call app.open_to('app.pauses', 'leasehold_platform');
create policy worker_reads on app.pauses for select to leasehold_worker using (true);
grant select (id, scope, queue_id, definition_id, tenant_id, reason, paused_at, paused_until) on app.pauses to leasehold_web;
grant select on app.pauses to leasehold_worker;
grant select, insert, delete on app.pauses to leasehold_platform;
grant update (reason, paused_at, paused_until, paused_by) on app.pauses to leasehold_platform;

-- Limits --------------------------------------------------------------------------------------------------------------

-- A limit caps the jobs that run at once (max_running), the rate at which jobs begin (starts_per_second and burst), or both.
-- A tenant scope without a tenant_id applies to each tenant separately; a tenant's own row replaces it for that tenant.
-- limited_at and limited_by say when and why a claim last left ready jobs unclaimed because of this limit. Claimers update
-- them up to once a second, hence the fillfactor. Claimers lock the rows in id order before they count.
create table app.concurrency_limits (
  id integer generated always as identity primary key,
  scope text not null check (scope in ('queue', 'definition', 'tenant_queue', 'tenant_definition')),
  queue_id integer references app.job_queues (id) on delete cascade,
  definition_id uuid references app.job_definitions (id) on delete cascade,
  tenant_id uuid references app.tenants (id) on delete cascade,
  max_running integer check (max_running between 0 and 1000000),
  starts_per_second double precision check (starts_per_second between 0.00001 and 1000000),
  burst integer check (burst between 1 and 1000000),
  limited_at timestamptz,
  limited_by text check (limited_by in ('running', 'rate')),
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  constraint concurrency_limits_target check ((scope in ('queue', 'tenant_queue')) = (queue_id is not null)
    and (scope in ('definition', 'tenant_definition')) = (definition_id is not null)
    and (tenant_id is null or scope in ('tenant_queue', 'tenant_definition'))),
  constraint concurrency_limits_say_something check (max_running is not null or starts_per_second is not null),
  constraint concurrency_limits_rate check ((starts_per_second is null) = (burst is null)),
  constraint concurrency_limits_one_for_each unique nulls not distinct (tenant_id, scope, queue_id, definition_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.concurrency_limits');
create policy web_reads_common on app.concurrency_limits for select to leasehold_web
  using (tenant_id is null and (select app.current_tenant()) is not null);
call app.open_to('app.concurrency_limits', 'leasehold_platform');
call app.open_to('app.concurrency_limits', 'leasehold_worker');
call app.open_to('app.concurrency_limits', 'leasehold_scheduler');
grant select on app.concurrency_limits to leasehold_web, leasehold_worker, leasehold_scheduler;
grant select, insert, delete on app.concurrency_limits to leasehold_platform;
grant update (max_running, starts_per_second, burst, updated_at) on app.concurrency_limits to leasehold_platform;
grant update (limited_at, limited_by) on app.concurrency_limits to leasehold_worker;
-- For the row locks of app.running_mark_floor; the scheduler never changes this column.
grant update (limited_at) on app.concurrency_limits to leasehold_scheduler;

-- The token bucket of a limit on starts: the tokens left as of refilled_at. A limit that applies to each tenant has one bucket
-- for each tenant. Logged, because a crash must not refill a bucket. Changed only under the lock of the limit's row.
-- limit_id is not a foreign key: the operations that delete a limit, or its rate, delete the buckets.
create table app.rate_buckets (
  limit_id integer not null,
  tenant_id uuid,
  tokens double precision not null,
  refilled_at timestamptz not null,
  constraint rate_buckets_one_for_each unique nulls not distinct (tenant_id, limit_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.rate_buckets');
call app.open_to('app.rate_buckets', 'leasehold_worker');
call app.open_to('app.rate_buckets', 'leasehold_platform');
grant select on app.rate_buckets to leasehold_web;
grant select, insert, update (tokens, refilled_at) on app.rate_buckets to leasehold_worker;
grant select, delete on app.rate_buckets to leasehold_platform;

-- Claims under limits -------------------------------------------------------------------------------------------------

-- Slots that app.reserve_slots has reserved under limits and that no job fills yet. A claim under limits takes two steps, so
-- that claimers wait for each other only while they count: a short transaction reserves slots under the limits' locks, then
-- another claims that many jobs without a lock that other claimers need. A reservation counts as running until the transaction
-- that claims its jobs deletes it. Unlogged, because a crash ends the claimers too.
create unlogged table app.claim_reservations (
  id bigint generated always as identity primary key,
  lane_no integer not null,
  n integer not null check (n > 0),
  -- The instant of the claims.
  reserved_at timestamptz not null,
  -- By the machine's clock, not app.now(). An unused reservation is dropped after five seconds.
  made_at timestamptz not null default clock_timestamp()
);
grant select, insert, delete on app.claim_reservations to leasehold_worker;
-- For row locks, which skip reservations in use; no worker changes this column.
grant update (n) on app.claim_reservations to leasehold_worker;
grant select on app.claim_reservations to leasehold_scheduler;

-- Makes counts of running jobs cheap while an old snapshot is held. The index of running jobs then keeps an entry of every job
-- that ran since, and a full count reads all of them. So the leader stores a mark: an instant, and the jobs that were claimed
-- before it and still run. A count reads those jobs and the claims since.
-- One row at most. Without one, counts read the whole index and are as exact, hence unlogged. A worker deletes a mark that lies
-- in the future, because then the clock was set back.
create unlogged table app.running_mark (
  one boolean primary key default true check (one),
  at timestamptz not null,
  jobs uuid[] not null
);
grant select, delete on app.running_mark to leasehold_worker;
grant select, insert, update, delete on app.running_mark to leasehold_scheduler;

-- Fairness ------------------------------------------------------------------------------------------------------------

-- The usage of each tenant in each queue, summed over all workers, so that the workers are fair together. Beginning an
-- attempt costs 1, and each second of running 1 more. A hint that may be lost, hence unlogged.
create unlogged table app.tenant_usage (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  queue_id integer not null references app.job_queues (id) on delete cascade,
  cost double precision not null,
  updated_at timestamptz not null,
  primary key (tenant_id, queue_id)
) with (fillfactor = 50);
call app.protect_tenant_table('app.tenant_usage');
call app.open_to('app.tenant_usage', 'leasehold_worker');
grant select on app.tenant_usage to leasehold_web;
grant select, insert, update (cost, updated_at) on app.tenant_usage to leasehold_worker;
