import { statement, tenantIs } from "@/lib/db";
import { RELEASED } from "./dependencies";

export const enqueueJobsSql = statement("enqueue_jobs", "select * from app.enqueue_jobs($1, $2::jsonb)");

export const lockLiveJobSql = statement(
  "lock_live_job",
  `select state, lane_no, cancel_requested_at from app.live_jobs
   where ${tenantIs("tenant_id")} and job_id = $2 for update`,
);

export const requestCancelSql = statement(
  "request_cancel",
  `update app.live_jobs set cancel_requested_at = coalesce(cancel_requested_at, app.now())
   where ${tenantIs("tenant_id")} and job_id = $2 and state = 'running'`,
);

/** Ends a job that no worker holds. Its outcome stands in an attempt row without a worker. */
export const cancelWaitingSql = statement(
  "cancel_waiting",
  `with ended as (
     delete from app.live_jobs where ${tenantIs("tenant_id")} and job_id = $2 and state <> 'running'
     returning job_id, lease_no, tenant_id, lane_no, run_no, started_at, attempts_spent, has_dedupe_key,
       has_dependents
   ), attempt as (
     insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at, attempt_count)
     select job_id, lease_no + 1, tenant_id, run_no, 'canceled', app.now(), 'canceled', started_at, attempts_spent from ended
     returning job_id
   ), freed as (
     delete from app.dedupe_keys k using ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
       and k.job_id = e.job_id and (k.held_until is null or k.held_until <= app.now())
   ), kept as (
     update app.dedupe_keys k set live = false from ended e where e.has_dedupe_key and k.tenant_id = e.tenant_id
       and k.job_id = e.job_id and k.held_until > app.now()
   ), counted as (
     insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
     select e.tenant_id, l.definition_id, app.now(), 'canceled', 1 from ended e join app.lanes l on l.lane_no = e.lane_no
   )
   select job_id, ${RELEASED} as released from ended`,
);

/** The outcome of a job's last run, locked, with what a new run needs. No row = the job is not there or not finished. */
export const lockOutcomeSql = statement(
  "lock_outcome",
  `select a.attempt_no, a.run_no, a.outcome, j.lane_no, j.priority, j.dedupe_key, j.definition_id, d.is_active
   from app.job_attempts a
   join app.jobs j on j.id = a.job_id join app.job_definitions d on d.id = j.definition_id
   where ${tenantIs("a.tenant_id")} and a.job_id = $2 and a.outcome is not null and not a.superseded for update of a`,
);

export const supersedeOutcomeSql = statement(
  "supersede_outcome",
  `update app.job_attempts set superseded = true where ${tenantIs("tenant_id")} and job_id = $2 and attempt_no = $3`,
);

/** Starts the next run of a finished job: lease numbers go on rising, attempts start anew. */
export const startRunSql = statement(
  "start_run",
  `with live as (
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, run_no, lease_no, has_dedupe_key)
     select j.id, j.tenant_id, j.lane_no, 'queued', true, app.sort_key_of(app.now(), j.priority), j.priority, app.now(),
       $4::int + 1, $3::bigint, j.dedupe_key is not null
     from app.jobs j where ${tenantIs("j.tenant_id")} and j.id = $2
     returning tenant_id, lane_no
   ), counted as (
     insert into app.job_stat_deltas (tenant_id, definition_id, at, kind, n)
     select live.tenant_id, l.definition_id, app.now(), 'retried', 1 from live join app.lanes l on l.lane_no = live.lane_no
   )
   select lane_no from live`,
);

export const takeKeySql = statement(
  "take_dedupe_key",
  "select job_id from app.take_dedupe_keys($1, array[$3]::text[], array[$2]::uuid[], array[null]::timestamptz[])",
);

export const reviveKeySql = statement(
  "revive_dedupe_key",
  `update app.dedupe_keys set live = true where ${tenantIs("tenant_id")} and key = $3 and job_id = $2`,
);

export const auditJobSql = statement(
  "audit_job",
  `insert into app.job_audit (tenant_id, job_id, actor_kind, actor_id, action, from_status, to_status, request_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
