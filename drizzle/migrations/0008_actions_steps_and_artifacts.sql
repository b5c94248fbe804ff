-- Actions on many jobs, the triage of dead letters, and what attempts store besides their result: steps and artifacts.

-- Bulk actions --------------------------------------------------------------------------------------------------------

-- An action on many jobs. Its target is fixed when the action is accepted: job ids, or a filter over the jobs that exist then.
-- In each turn the leading scheduler chooses an action, and the web role acts on a chunk of its jobs as the tenant, from the
-- newest job to the oldest. The jobs with ids below next_before remain.
-- term is the leader's term of the last turn, and fences off earlier leaders. tries counts the turns since the last chunk; an
-- action whose turns keep failing is stopped.
create table app.bulk_actions (
  id uuid primary key default app.new_id(),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  action text not null check (action in ('cancel', 'retry', 'redrive', 'pause', 'resume', 'set_priority', 'reschedule')),
  priority integer check (priority between 1 and 1000),
  scheduled_for timestamptz,
  target jsonb not null,
  next_before uuid not null,
  status text not null default 'queued' check (status in ('queued', 'running', 'done', 'aborted', 'stopped')),
  stop_reason text,
  total integer not null check (total >= 0),
  total_is_exact boolean not null,
  chunk_count integer not null default 0,
  done_count integer not null default 0,
  skipped_count integer not null default 0,
  failed_count integer not null default 0,
  actor_kind text not null check (actor_kind in ('user', 'api_key', 'system')),
  actor_id uuid,
  user_id uuid,
  request_id text,
  created_at timestamptz not null default app.now(),
  started_at timestamptz,
  finished_at timestamptz,
  abort_requested_at timestamptz,
  term bigint,
  taken_at timestamptz,
  tries integer not null default 0,
  unique (tenant_id, id),
  constraint bulk_actions_finished check ((status in ('done', 'aborted', 'stopped')) = (finished_at is not null)),
  constraint bulk_actions_stopped check ((status = 'stopped') = (stop_reason is not null)),
  constraint bulk_actions_priority check ((action = 'set_priority') = (priority is not null)),
  constraint bulk_actions_time check ((action = 'reschedule') = (scheduled_for is not null))
);
create index bulk_actions_open on app.bulk_actions (coalesce(taken_at, created_at)) where finished_at is null;
create index bulk_actions_open_of_tenant on app.bulk_actions (tenant_id) where finished_at is null;
-- Tenants take turns: the next is the one whose last turn, with any of its actions, is longest ago.
create index bulk_actions_turns on app.bulk_actions (tenant_id, taken_at desc nulls last);
create index bulk_actions_over on app.bulk_actions (finished_at) where finished_at is not null;
call app.protect_tenant_table('app.bulk_actions');
call app.open_to('app.bulk_actions', 'leasehold_scheduler');
grant select, insert on app.bulk_actions to leasehold_web;
grant update (status, stop_reason, next_before, chunk_count, done_count, skipped_count, failed_count, started_at,
  finished_at, abort_requested_at, tries) on app.bulk_actions to leasehold_web;
grant select (id, tenant_id, status, created_at, finished_at, term, taken_at, tries), delete
  on app.bulk_actions to leasehold_scheduler;
grant update (status, stop_reason, finished_at, term, taken_at, tries) on app.bulk_actions to leasehold_scheduler;

-- The outcome of one chunk: results[i] is the result of job_ids[i]. held_ids are jobs that the action has set aside, because a
-- parent blocks them and the action may still reach that parent. After all other jobs it acts on them, the oldest first.
create table app.bulk_action_chunks (
  tenant_id uuid not null,
  action_id uuid not null,
  chunk_no integer not null check (chunk_no >= 1),
  job_ids uuid[] not null,
  results text[] not null,
  held_ids uuid[] not null default '{}',
  primary key (tenant_id, action_id, chunk_no),
  foreign key (tenant_id, action_id) references app.bulk_actions (tenant_id, id) on delete cascade,
  constraint bulk_action_chunks_pairs check (cardinality(job_ids) = cardinality(results))
);
call app.protect_tenant_table('app.bulk_action_chunks');
grant select, insert, update (held_ids) on app.bulk_action_chunks to leasehold_web;

-- Dead letters --------------------------------------------------------------------------------------------------------

-- The triage of a job that failed permanently: a status and a note. The first change inserts the row, so a dead letter without
-- a row, or with a row of an earlier run, is pending. The actor of each change is in app.job_audit.
create table app.dead_letters (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  job_id uuid not null,
  run_no integer not null check (run_no >= 1),
  status text not null check (status in ('pending', 'investigating', 'resolved', 'ignored')),
  note text not null default '' check (char_length(note) <= 2000),
  changed_at timestamptz not null default app.now(),
  changed_by uuid,
  primary key (tenant_id, job_id)
);
call app.protect_tenant_table('app.dead_letters');
grant select, insert, update (run_no, status, note, changed_at, changed_by) on app.dead_letters to leasehold_web;

-- Steps ---------------------------------------------------------------------------------------------------------------

-- The results of the steps that a run has completed, so that its later attempts do not repeat them. Not partitioned: few jobs
-- have steps, and ids sort by time, so the rows of old jobs are one end of the primary key.
create table app.job_steps (
  job_id uuid not null,
  run_no integer not null,
  name text not null check (char_length(name) between 1 and 200),
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  attempt_no bigint not null,
  result jsonb not null,
  created_at timestamptz not null default app.now(),
  primary key (job_id, run_no, name)
);
call app.protect_tenant_table('app.job_steps');
call app.open_to('app.job_steps', 'leasehold_worker');
grant select on app.job_steps to leasehold_web;
grant select, insert on app.job_steps to leasehold_worker;

-- Artifacts -----------------------------------------------------------------------------------------------------------

-- The bytes of all artifacts of a tenant, complete or not. The lock on the tenant's row keeps quotas exact under concurrent
-- writers.
create table app.artifact_usage (
  tenant_id uuid primary key references app.tenants (id) on delete cascade,
  bytes bigint not null default 0 check (bytes >= 0)
);
call app.protect_tenant_table('app.artifact_usage');
call app.open_to('app.artifact_usage', 'leasehold_worker');
call app.open_to('app.artifact_usage', 'leasehold_scheduler');
grant select, insert, update (bytes) on app.artifact_usage to leasehold_worker;
-- These roles delete artifacts too, and app.give_artifact_bytes_back runs as the role that deletes.
grant select, update (bytes) on app.artifact_usage to leasehold_web, leasehold_scheduler;

-- Gives the bytes of deleted artifacts back to their tenants.
create function app.give_artifact_bytes_back() returns trigger
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    update app.artifact_usage u set bytes = greatest(0, u.bytes - g.bytes)
    from (select tenant_id, sum(size)::bigint as bytes from gone group by tenant_id having sum(size) > 0) g
    where u.tenant_id = g.tenant_id;
    return null;
  end $$;
revoke all on function app.give_artifact_bytes_back() from public;

-- A file that a job made, stored in chunks. Tenants see it once it is complete. Not partitioned: few jobs have artifacts, and
-- ids sort by time, so the artifacts of old jobs are one end of artifacts_by_job.
create table app.artifacts (
  tenant_id uuid not null references app.tenants (id) on delete cascade,
  id uuid not null default app.new_id(),
  job_id uuid not null,
  run_no integer not null,
  attempt_no bigint not null,
  name text not null check (char_length(name) between 1 and 200),
  content_type text not null check (char_length(content_type) between 1 and 200),
  size bigint not null default 0 check (size >= 0),
  chunks integer not null default 0 check (chunks >= 0),
  sha256 bytea check (octet_length(sha256) = 32),
  created_at timestamptz not null default app.now(),
  completed_at timestamptz,
  primary key (tenant_id, id),
  constraint artifacts_complete_has_hash check ((completed_at is null) = (sha256 is null))
);
create unique index artifacts_name on app.artifacts (tenant_id, job_id, name) where completed_at is not null;
create index artifacts_by_job on app.artifacts (job_id);
create index artifacts_unfinished on app.artifacts (job_id, attempt_no) where completed_at is null;
call app.protect_tenant_table('app.artifacts');
call app.open_to('app.artifacts', 'leasehold_worker');
call app.open_to('app.artifacts', 'leasehold_scheduler');
grant select, delete on app.artifacts to leasehold_web, leasehold_scheduler;
grant select, insert, update (size, chunks, sha256, completed_at), delete on app.artifacts to leasehold_worker;
-- For the row locks of its sweep; the scheduler never changes this column.
grant update (completed_at) on app.artifacts to leasehold_scheduler;
create trigger give_bytes_back after delete on app.artifacts referencing old table as gone
  for each statement execute function app.give_artifact_bytes_back();

-- The content of an artifact, in chunks numbered from 0.
create table app.artifact_chunks (
  tenant_id uuid not null,
  artifact_id uuid not null,
  no integer not null check (no >= 0),
  bytes bytea not null check (octet_length(bytes) between 1 and 1048576),
  primary key (tenant_id, artifact_id, no),
  foreign key (tenant_id, artifact_id) references app.artifacts (tenant_id, id) on delete cascade
);
-- Not compressed, because a chunk is read and written as a whole, and many artifacts are compressed files.
alter table app.artifact_chunks alter column bytes set storage external;
call app.protect_tenant_table('app.artifact_chunks');
call app.open_to('app.artifact_chunks', 'leasehold_worker');
grant select on app.artifact_chunks to leasehold_web;
grant select, insert on app.artifact_chunks to leasehold_worker;

-- Deletes the artifacts of deleted jobs. Dropping a whole day of jobs fires no trigger; the scheduler's sweep deletes the
-- artifacts that it leaves behind.
create function app.delete_artifacts_of_jobs() returns trigger
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    delete from app.artifacts a using gone g where a.job_id = g.id and a.tenant_id = g.tenant_id;
    return null;
  end $$;
revoke all on function app.delete_artifacts_of_jobs() from public;
create trigger delete_artifacts after delete on app.jobs referencing old table as gone
  for each statement execute function app.delete_artifacts_of_jobs();
