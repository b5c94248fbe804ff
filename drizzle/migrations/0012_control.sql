-- Acts on many jobs, and what people make of dead letters.

-- A change of priority may move a job to another lane, and a later run goes on as the job was changed; nothing else of
-- the record is ever written again.
grant update (lane_no) on app.live_jobs to leasehold_web;
grant update (lane_no, priority, scheduled_for) on app.jobs to leasehold_web;

-- An act on many jobs: which jobs was settled when it was accepted (their ids, or a filter and before_id), and the
-- leading scheduler works them off from the newest to the oldest. next_before is how far it has come: the jobs of this
-- action below it are still to come.
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
create index bulk_actions_over on app.bulk_actions (finished_at) where finished_at is not null;

-- What became of the jobs of one chunk, side by side: the result at one place is the one of the job at the same place.
create table app.bulk_action_chunks (
  tenant_id uuid not null,
  action_id uuid not null,
  chunk_no integer not null check (chunk_no >= 1),
  job_ids uuid[] not null,
  results text[] not null,
  primary key (tenant_id, action_id, chunk_no),
  foreign key (tenant_id, action_id) references app.bulk_actions (tenant_id, id) on delete cascade,
  constraint bulk_action_chunks_pairs check (cardinality(job_ids) = cardinality(results))
);

call app.protect_tenant_table('app.bulk_actions');
call app.protect_tenant_table('app.bulk_action_chunks');
call app.open_to('app.bulk_actions', 'leasehold_scheduler');
grant select, insert on app.bulk_actions, app.bulk_action_chunks to leasehold_web;
grant update (status, stop_reason, next_before, chunk_count, done_count, skipped_count, failed_count, started_at,
  finished_at, abort_requested_at, tries) on app.bulk_actions to leasehold_web;
-- The scheduler says whose turn it is; what is done is done as the tenant, by the web role.
grant select (id, tenant_id, status, created_at, finished_at, term, taken_at, tries), delete on app.bulk_actions to leasehold_scheduler;
grant update (status, stop_reason, finished_at, term, taken_at, tries) on app.bulk_actions to leasehold_scheduler;

-- What somebody is in the tenant of the transaction at this moment; no row = nothing any more (left, disabled, key
-- revoked, tenant suspended). For acts that outlive their request: web itself sees neither super admins nor what a key
-- may do. Runs as the owner, who may read these rows for it, and only while a tenant is set.
create policy owner_checks_standing on app.tenants for select to leasehold_owner
  using (id = (select app.current_tenant()));
create policy owner_checks_standing on app.memberships for select to leasehold_owner
  using (tenant_id = (select app.current_tenant()));
create policy owner_checks_standing on app.api_keys for select to leasehold_owner
  using (tenant_id = (select app.current_tenant()) or (tenant_id is null and (select app.current_tenant()) is not null));
create policy owner_checks_standing on app.users for select to leasehold_owner
  using ((select app.current_tenant()) is not null);
create function app.standing_of(p_user uuid, p_key uuid)
  returns table (role text, is_super_admin boolean, key_kind text, key_scopes text[])
  language sql stable security definer set search_path = pg_catalog, app
  as $$
    select m.role, u.is_super_admin, k.kind, k.scopes
    from app.users u
    join app.tenants t on t.id = app.current_tenant() and t.status = 'active'
    left join app.memberships m on m.user_id = u.id and m.tenant_id = t.id
    left join app.api_keys k on k.id = p_key and k.created_by = u.id and k.revoked_at is null
      and k.expires_at > app.now() and (k.tenant_id is null or k.tenant_id = t.id)
    where u.id = p_user and u.disabled_at is null and (p_key is null or k.id is not null)
      and (m.role is not null or u.is_super_admin)
  $$;
revoke all on function app.standing_of(uuid, uuid) from public;
grant execute on function app.standing_of(uuid, uuid) to leasehold_web;

-- What people make of a job that failed for good. A row is made when somebody first touches one: a dead letter without a
-- row, or with one of an earlier run, is pending. Who did what is in job_audit.
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
grant select, insert on app.dead_letters to leasehold_web;
grant update (run_no, status, note, changed_at, changed_by) on app.dead_letters to leasehold_web;
