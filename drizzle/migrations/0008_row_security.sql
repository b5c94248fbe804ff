-- Who may touch what. Grants say which columns, policies say which rows; both are needed, and a table without a
-- policy for a role shows that role nothing. FORCE makes the owner see nothing either.
--   web        one tenant at a time (app.current_tenant_id, set inside each transaction)
--   worker     all tenants: claim, lease, settle; never user data
--   scheduler  all tenants: promotion, rescue, expiry, figures, partitions
--   platform   the super admin's pages: definitions, queues, tenants, providers, workers
--   auth       login and key lookup, before a tenant is known

-- Every tenant table goes through here, so that none can forget a part. The scalar sub-select lets the planner
-- evaluate the tenant once for each statement and not once for each row.
create procedure app.protect_tenant_table(tab regclass)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('alter table %s enable row level security', tab);
    execute format('alter table %s force row level security', tab);
    execute format('create policy tenant_rw on %s for all to leasehold_web '
      'using (tenant_id = (select app.current_tenant())) with check (tenant_id = (select app.current_tenant()))', tab);
  end $$;
revoke all on procedure app.protect_tenant_table(regclass) from public;

-- Gives a process role every tenant's rows of a table.
create procedure app.open_to(tab regclass, role_name name)
  language plpgsql set search_path = pg_catalog, app
  as $$
  begin
    execute format('create policy %I on %s for all to %I using (true) with check (true)',
      replace(role_name, 'leasehold_', '') || '_all', tab, role_name);
  end $$;
revoke all on procedure app.open_to(regclass, name) from public;

-- Tenants, people, sessions, keys ------------------------------------------------------------------------------
alter table app.tenants enable row level security;
alter table app.tenants force row level security;
create policy tenant_reads_itself on app.tenants for select to leasehold_web using (id = (select app.current_tenant()));
call app.open_to('app.tenants', 'leasehold_platform');
create policy auth_reads on app.tenants for select to leasehold_auth using (true);
create policy worker_reads on app.tenants for select to leasehold_worker using (true);
create policy scheduler_reads on app.tenants for select to leasehold_scheduler using (true);
grant select on app.tenants to leasehold_web, leasehold_auth, leasehold_worker, leasehold_scheduler;
grant select, insert on app.tenants to leasehold_platform;
grant update (name, timezone, status, updated_at) on app.tenants to leasehold_platform;

call app.protect_tenant_table('app.memberships');
call app.open_to('app.memberships', 'leasehold_platform');
create policy auth_reads on app.memberships for select to leasehold_auth using (true);
grant select on app.memberships to leasehold_web, leasehold_auth;
grant select, insert, delete on app.memberships to leasehold_platform;
grant update (role) on app.memberships to leasehold_platform;

alter table app.users enable row level security;
alter table app.users force row level security;
create policy members_of_tenant on app.users for select to leasehold_web using (
  exists (select 1 from app.memberships m where m.user_id = users.id and m.tenant_id = (select app.current_tenant())));
call app.open_to('app.users', 'leasehold_platform');
call app.open_to('app.users', 'leasehold_auth');
grant select (id, email, display_name, disabled_at) on app.users to leasehold_web;
grant select on app.users to leasehold_auth;
grant update (password_hash, must_change_password, updated_at) on app.users to leasehold_auth;
grant select (id, email, display_name, must_change_password, is_super_admin, disabled_at, created_at, updated_at),
  insert on app.users to leasehold_platform;
grant update (email, display_name, password_hash, must_change_password, is_super_admin, disabled_at, updated_at)
  on app.users to leasehold_platform;

alter table app.sessions enable row level security;
alter table app.sessions force row level security;
call app.open_to('app.sessions', 'leasehold_auth');
create policy platform_revokes on app.sessions for update to leasehold_platform using (true) with check (true);
create policy platform_reads on app.sessions for select to leasehold_platform using (true);
create policy scheduler_cleans on app.sessions for delete to leasehold_scheduler using (true);
create policy scheduler_reads on app.sessions for select to leasehold_scheduler using (true);
grant select, insert, delete on app.sessions to leasehold_auth;
grant update (last_seen_at, idle_expires_at, revoked_at) on app.sessions to leasehold_auth;
grant select (user_id, created_at, last_seen_at, revoked_at, ip, user_agent) on app.sessions to leasehold_platform;
grant update (revoked_at) on app.sessions to leasehold_platform;
grant select (absolute_expires_at), delete on app.sessions to leasehold_scheduler;

call app.protect_tenant_table('app.api_keys');
call app.open_to('app.api_keys', 'leasehold_platform');
create policy auth_reads on app.api_keys for select to leasehold_auth using (true);
create policy auth_marks_use on app.api_keys for update to leasehold_auth using (true) with check (true);
grant select (id, key_id, last4, kind, tenant_id, name, scopes, created_by, created_at, expires_at, revoked_at,
  last_used_at, last_used_ip) on app.api_keys to leasehold_web, leasehold_platform;
grant insert on app.api_keys to leasehold_web, leasehold_platform;
grant update (name, expires_at, revoked_at) on app.api_keys to leasehold_web, leasehold_platform;
grant select on app.api_keys to leasehold_auth;
grant update (last_used_at, last_used_ip) on app.api_keys to leasehold_auth;

grant select, insert, delete on app.request_buckets to leasehold_auth;
grant update (tokens, refilled_at) on app.request_buckets to leasehold_auth;

-- Definitions: read by all that enqueue or run, written by the super admin ------------------------------------------
grant select on app.job_queues, app.job_definitions, app.job_definition_versions
  to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform;
grant insert on app.job_queues, app.job_definitions, app.job_definition_versions to leasehold_platform;
grant update (description, is_active, updated_at) on app.job_queues to leasehold_platform;
grant update (description, executor, command_key, queue_id, arg_schema, timeout_seconds, max_attempts, lease_seconds,
  kill_grace_seconds, retry_strategy, retry_delay_seconds, retry_multiplier, retry_max_delay_seconds, retry_jitter,
  dead_letter, is_active, version, updated_at) on app.job_definitions to leasehold_platform;

-- Jobs ------------------------------------------------------------------------------------------------------------
call app.protect_tenant_table('app.lanes');
call app.protect_tenant_table('app.jobs');
call app.protect_tenant_table('app.live_jobs');
call app.protect_tenant_table('app.job_attempts');
call app.protect_tenant_table('app.job_logs');
call app.protect_tenant_table('app.dedupe_keys');
call app.protect_tenant_table('app.job_stat_deltas');
call app.protect_tenant_table('app.job_stats');
call app.protect_tenant_table('app.live_totals');
do $$
declare tab text;
begin
  foreach tab in array array['lanes', 'jobs', 'live_jobs', 'job_attempts', 'job_logs', 'dedupe_keys', 'job_stat_deltas'] loop
    call app.open_to(format('app.%I', tab)::regclass, 'leasehold_worker');
    call app.open_to(format('app.%I', tab)::regclass, 'leasehold_scheduler');
  end loop;
  call app.open_to('app.job_stats', 'leasehold_scheduler');
  call app.open_to('app.live_totals', 'leasehold_scheduler');
end $$;

grant select, insert on app.lanes to leasehold_web;
grant select on app.lanes to leasehold_worker, leasehold_scheduler;

grant select, insert on app.jobs to leasehold_web;
grant select on app.jobs to leasehold_worker, leasehold_scheduler;

-- Deleting is how a job that is not running is canceled; never tenant_id, lease_no or the lease itself.
grant select, insert, delete on app.live_jobs to leasehold_web;
grant update (state, ready, sort_key, priority, scheduled_for, expires_at, cancel_requested_at, has_dependents)
  on app.live_jobs to leasehold_web;
grant select, delete on app.live_jobs to leasehold_worker, leasehold_scheduler;
grant update (state, ready, sort_key, scheduled_for, lease_no, lease_expires_at, claimed_by_worker, claimed_at,
  attempts_spent, reclaims, started_at, attempt_started_at, cancel_requested_at, progress, progress_message, has_dependents)
  on app.live_jobs to leasehold_worker;
grant update (state, ready, sort_key, scheduled_for, lease_expires_at, claimed_by_worker, claimed_at, attempts_spent,
  reclaims, attempt_started_at, cancel_requested_at, progress, progress_message) on app.live_jobs to leasehold_scheduler;

-- A person ends a run only where no worker holds it, so the row that web inserts has no worker.
grant select, insert on app.job_attempts to leasehold_web;
grant update (superseded) on app.job_attempts to leasehold_web;
create policy web_ends_without_worker on app.job_attempts as restrictive for insert to leasehold_web
  with check (worker_id is null);
grant select, insert on app.job_attempts to leasehold_worker, leasehold_scheduler;

grant select on app.job_logs to leasehold_web, leasehold_scheduler;
grant select, insert on app.job_logs to leasehold_worker;

grant select, insert, delete on app.dedupe_keys to leasehold_web;
grant update (job_id, live, held_until) on app.dedupe_keys to leasehold_web;
grant select, delete on app.dedupe_keys to leasehold_worker, leasehold_scheduler;
grant update (live) on app.dedupe_keys to leasehold_worker, leasehold_scheduler;

grant select, insert on app.job_stat_deltas to leasehold_web;
grant insert on app.job_stat_deltas to leasehold_worker;
grant select, insert, delete on app.job_stat_deltas to leasehold_scheduler;
grant select on app.job_stats, app.live_totals to leasehold_web;
grant select, insert on app.job_stats, app.live_totals to leasehold_scheduler;
grant update (n, wait_ms, run_ms) on app.job_stats to leasehold_scheduler;
grant update (n) on app.live_totals to leasehold_scheduler;

-- Workers and leader -----------------------------------------------------------------------------------------------
grant select, insert, delete on app.job_workers to leasehold_worker;
grant update on app.job_workers to leasehold_worker;
grant select on app.job_workers to leasehold_web, leasehold_platform;
grant select, delete on app.job_workers to leasehold_scheduler;
grant select, update (term, leader_id, acquired_at, last_seen_at) on app.leader to leasehold_scheduler;
grant select on app.leader to leasehold_worker, leasehold_web, leasehold_platform;

-- Providers, inventory, lists ----------------------------------------------------------------------------------------
call app.protect_tenant_table('app.providers');
call app.protect_tenant_table('app.assets');
call app.protect_tenant_table('app.lists');
call app.protect_tenant_table('app.list_rows');
call app.open_to('app.providers', 'leasehold_platform');
create policy worker_reads on app.providers for select to leasehold_worker using (true);
grant select on app.providers to leasehold_web, leasehold_worker;
grant select, insert on app.providers to leasehold_platform;
grant select, insert, delete on app.assets, app.lists, app.list_rows to leasehold_web;
grant update (size, sha256, media_type, modified_at, seen_in, seen_at, change, updated_at) on app.assets to leasehold_web;
grant update (columns, row_count, updated_at) on app.lists to leasehold_web;
grant update (data) on app.list_rows to leasehold_web;

-- Audit and idempotency ------------------------------------------------------------------------------------------------
call app.protect_tenant_table('app.security_audit');
create policy auth_writes on app.security_audit for insert to leasehold_auth with check (true);
call app.open_to('app.security_audit', 'leasehold_platform');
create policy worker_writes on app.security_audit for insert to leasehold_worker with check (true);
create policy scheduler_writes on app.security_audit for insert to leasehold_scheduler with check (true);
grant insert on app.security_audit to leasehold_web, leasehold_auth, leasehold_platform, leasehold_worker, leasehold_scheduler;
grant select on app.security_audit to leasehold_web, leasehold_platform;

call app.protect_tenant_table('app.job_audit');
create policy scheduler_writes on app.job_audit for insert to leasehold_scheduler with check (true);
grant select, insert on app.job_audit to leasehold_web;
grant insert on app.job_audit to leasehold_scheduler;

call app.protect_tenant_table('app.idempotency_keys');
create policy platform_without_tenant on app.idempotency_keys for all to leasehold_platform
  using (tenant_id is null) with check (tenant_id is null);
call app.open_to('app.idempotency_keys', 'leasehold_scheduler');
grant select, insert, delete on app.idempotency_keys to leasehold_web, leasehold_platform;
grant select (id, expires_at), delete on app.idempotency_keys to leasehold_scheduler;
