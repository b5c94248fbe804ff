-- Jobs that wait for other jobs. An edge says what a child waits for; a child is blocked while one of its edges is pending.
-- Facts that must be exact are locked first and read by a later statement: an enqueue holds its parents' live rows while it
-- checks whether they are over, and a release holds the children's rows before it reads what they still wait for. Locks are
-- taken in order of ids, and a child's id is always greater than its parents', so that callers cannot deadlock.

-- The edges. tenant_id has no foreign key: the check would lock the tenant's row for each edge, which is half the cost of an
-- edge, and an edge is only written beside its child.
create table app.job_dependencies (
  child_id uuid not null,
  edge_no smallint not null check (edge_no >= 1),
  tenant_id uuid not null,
  parent_id uuid not null,
  alias text check (char_length(alias) between 1 and 100),
  type text not null check (type in ('completion', 'success', 'data', 'conditional')),
  condition jsonb,
  on_failure text not null check (on_failure in ('cancel', 'fail', 'run')),
  -- On the first data edge of a child: where its parents' results go in its payload.
  bindings jsonb,
  state text not null default 'pending' check (state in ('pending', 'met', 'failed')),
  primary key (child_id, edge_no),
  constraint job_dependencies_no_self check (child_id <> parent_id),
  constraint job_dependencies_condition_by_type check ((type = 'conditional') = (condition is not null)),
  constraint job_dependencies_bindings_by_type check (bindings is null or type = 'data')
);
-- The children of a job in order of their ids, all of them or the pending ones. One index serves both, because each index costs
-- a third of the edge. Entries rise within a parent and are never equal, so deduplication would find nothing.
create index job_dependencies_of_parent on app.job_dependencies (parent_id, state, child_id) with (deduplicate_items = off);
call app.protect_tenant_table('app.job_dependencies');
call app.open_to('app.job_dependencies', 'leasehold_worker');
call app.open_to('app.job_dependencies', 'leasehold_scheduler');
-- A worker enqueues the children that an attempt asked for, which may wait for each other. The scheduler enqueues the one job of
-- a trigger that may wait for the trigger's running job, as a child of that job.
grant select, insert on app.job_dependencies to leasehold_web, leasehold_worker, leasehold_scheduler;
grant update (state) on app.job_dependencies to leasehold_web, leasehold_worker, leasehold_scheduler;

-- Ranges of children, from_child to to_child, that have not been released since their parent ended. One call releases a bounded
-- number of children, so that a job with fifty thousand of them ends as quickly as any other. The call stores the rest here in
-- the same transaction, and the leader works it off in batches. Children whose rows another transaction has locked come here
-- too, so that no caller waits for them longer than a moment.
create table app.release_backlog (
  id bigint generated always as identity primary key,
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  parent_id uuid not null,
  from_child uuid not null,
  to_child uuid not null
);
create index release_backlog_of_parent on app.release_backlog (parent_id);
call app.protect_tenant_table('app.release_backlog');
call app.open_to('app.release_backlog', 'leasehold_worker');
call app.open_to('app.release_backlog', 'leasehold_scheduler');
grant select, insert on app.release_backlog to leasehold_web;
grant select, insert, delete on app.release_backlog to leasehold_worker, leasehold_scheduler;
-- No caller changes a row; a row lock takes the right to update a column.
grant update (from_child) on app.release_backlog to leasehold_worker, leasehold_scheduler;
