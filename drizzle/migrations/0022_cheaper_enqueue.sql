-- Enqueue costs less: bounds of single columns are domains, what one row says about itself is one CHECK, and the verb for
-- one job plans nothing anew.

-- A CHECK of a table is read and compiled anew by each statement that writes a row, 3 to 20 microseconds each; a domain
-- is compiled once in a session and refuses the same values. Only what columns of a row say about each other stays a CHECK.
create domain app.job_source as text check (value in ('manual', 'event', 'schedule', 'system'));
create domain app.job_priority as integer check (value between 1 and 1000);
create domain app.attempts_allowed as integer check (value between 1 and 100);
create domain app.time_limit_seconds as integer check (value between 1 and 604800);
create domain app.retry_delay_seconds as double precision check (value between 0 and 86400);
create domain app.retry_multiplier as double precision check (value between 1 and 10);
create domain app.chain_depth as smallint check (value >= 0);
create domain app.run_no as integer check (value >= 1);
create domain app.lease_no as bigint check (value >= 0);
create domain app.tally as integer check (value >= 0);
create domain app.percent as smallint check (value between 0 and 100);
create domain app.progress_message as text check (char_length(value) <= 500);
create domain app.figure_kind as text check (value in
  ('queued', 'retried', 'succeeded', 'failed', 'dead_letter', 'canceled', 'expired', 'attempt_failed'));

do $$
declare r record;
begin
  for r in select conrelid::regclass as tab, conname from pg_constraint
           where contype = 'c' and coninhcount = 0
             and conrelid in ('app.jobs'::regclass, 'app.live_jobs'::regclass, 'app.job_stat_deltas'::regclass) loop
    execute format('alter table %s drop constraint %I', r.tab, r.conname);
  end loop;
end $$;
alter table app.jobs alter column source type app.job_source, alter column priority type app.job_priority,
  alter column max_attempts type app.attempts_allowed, alter column timeout_seconds type app.time_limit_seconds,
  alter column retry_delay_seconds type app.retry_delay_seconds, alter column retry_multiplier type app.retry_multiplier,
  alter column chain_depth type app.chain_depth;
alter table app.live_jobs alter column priority type app.job_priority, alter column run_no type app.run_no,
  alter column lease_no type app.lease_no, alter column attempts_spent type app.tally, alter column reclaims type app.tally,
  alter column timeouts type app.tally, alter column progress type app.percent,
  alter column progress_message type app.progress_message,
  add constraint live_jobs_running_is_leased check (state in ('queued', 'blocked', 'paused', 'running') and
    case when state = 'running' then not ready and num_nulls(lease_expires_at, claimed_by_worker, claimed_at) = 0
    else (state = 'queued' or not ready) and
      num_nonnulls(lease_expires_at, claimed_by_worker, claimed_at, attempt_started_at, cancel_requested_at) = 0 end);
alter table app.job_stat_deltas alter column kind type app.figure_kind;

-- As before. Whether a queue is named is decided before the look-up, so that one plan serves all calls; what is no statement
-- is an expression; and three inserts cost less than one statement that holds all three.
create or replace function app.enqueue_job(p_tenant uuid, p_definition uuid, p_version integer, p_queue text, p_source text,
    p_source_ref text, p_priority integer, p_payload jsonb, p_tags text[], p_metadata jsonb, p_correlation_id text,
    p_parent_job_id uuid, p_retried_from_id uuid, p_scheduled_for timestamptz, p_expires_at timestamptz,
    p_max_attempts integer, p_timeout_seconds integer, p_retry_delay_seconds double precision,
    p_retry_multiplier double precision, p_created_by uuid)
  returns table (ordinal integer, job_id uuid, deduplicated boolean, conflict text, state text, ready boolean,
                 lane_no integer, queued_at timestamptz, scheduled_for timestamptz, priority integer,
                 max_attempts integer, timeout_seconds integer)
  language plpgsql
  as $$
  #variable_conflict use_column
  declare
    v_tenant text := pg_catalog.set_config('app.current_tenant_id', p_tenant::text, true);
    v_now timestamptz := app.now();
    v_due timestamptz := coalesce(p_scheduled_for, v_now);
    v_ready boolean := v_due <= v_now;
    v_id uuid := app.new_id();
    v_lane integer; v_priority integer; v_attempts integer; v_timeout integer;
  begin
    for i in 1 .. 2 loop
      if p_queue is null then
        select l.lane_no, coalesce(p_priority, q.default_priority), coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
            case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
          into v_lane, v_priority, v_attempts, v_timeout
          from app.job_definitions d
          join app.tenants t on t.id = p_tenant and t.status = 'active'
          join app.job_queues q on q.id = d.queue_id
          join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = p_definition
            and l.band = app.band_of(coalesce(p_priority, q.default_priority))
          where d.id = p_definition and d.version = p_version and d.is_active;
      else
        select l.lane_no, coalesce(p_priority, q.default_priority), coalesce(p_max_attempts, d.max_attempts, q.max_attempts, 3),
            case when p_timeout_seconds is null and d.timeout_seconds is null then q.timeout_seconds else p_timeout_seconds end
          into v_lane, v_priority, v_attempts, v_timeout
          from app.job_definitions d
          join app.tenants t on t.id = p_tenant and t.status = 'active'
          join app.job_queues q on q.name = p_queue and q.is_active
          join app.lanes l on l.tenant_id = p_tenant and l.queue_id = q.id and l.definition_id = p_definition
            and l.band = app.band_of(coalesce(p_priority, q.default_priority))
          where d.id = p_definition and d.version = p_version and d.is_active;
      end if;
      exit when v_lane is not null;
      perform app.make_lane(p_tenant, p_definition, p_version, p_queue, p_priority);
    end loop;
    insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, source_ref, priority,
      payload, tags, metadata, correlation_id, parent_job_id, retried_from_id, scheduled_for, expires_at, max_attempts,
      timeout_seconds, retry_delay_seconds, retry_multiplier, created_by, queued_at)
    values (v_id, p_tenant, p_definition, p_version, v_lane, p_source, p_source_ref, v_priority, p_payload,
      coalesce(p_tags, '{}'), coalesce(p_metadata, '{}'), p_correlation_id, p_parent_job_id, p_retried_from_id, v_due,
      p_expires_at, v_attempts, v_timeout, p_retry_delay_seconds, p_retry_multiplier, p_created_by, v_now);
    insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, expires_at)
    values (v_id, p_tenant, v_lane, 'queued', v_ready, app.sort_key_of(v_due, v_priority), v_priority, v_due, p_expires_at);
    insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
    values (p_tenant, p_definition, v_now, 'queued', 1);
    ordinal := 1; job_id := v_id; deduplicated := false; state := 'queued'; ready := v_ready; lane_no := v_lane;
    queued_at := v_now; scheduled_for := v_due; priority := v_priority; max_attempts := v_attempts;
    timeout_seconds := v_timeout;
    return next;
  end $$;
