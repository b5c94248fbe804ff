import { statement, tenantIs } from "@/lib/db";
import { counted } from "../attempts/counted.sql";
import { publishedOf } from "../attempts/job-events.sql";
import { RELEASE_KEYS } from "../attempts/release-keys.sql";
import { RELEASED } from "../dependencies/dependencies.sql";

/** Asks the workers of running jobs to stop them. `unchanged` is true for a job that already had a cancel request. */
export const requestCancelSql = statement(
  "request_cancel",
  `with asked as (
     update app.live_jobs l set cancel_requested_at = app.now()
     where ${tenantIs("l.tenant_id")} and l.job_id = any ($2::uuid[]) and l.state = 'running'
       and l.cancel_requested_at is null
     returning l.job_id, l.lane_no
   )
   select job_id, lane_no, 'running' as status, false as unchanged from asked
   union all
   select l.job_id, l.lane_no, l.state, true from app.live_jobs l
   where ${tenantIs("l.tenant_id")} and l.job_id = any ($2::uuid[]) and l.state = 'running'
     and l.cancel_requested_at is not null`,
);

/**
 * Ends jobs that no worker holds. Each outcome is in an attempt row without a worker. `released` is the same in each
 * row.
 */
export const cancelWaitingSql = statement(
  "cancel_waiting",
  `with ended as (
     delete from app.live_jobs where ${tenantIs("tenant_id")} and job_id = any ($2::uuid[]) and state <> 'running'
     returning job_id, lease_no, tenant_id, lane_no, run_no, started_at, attempts_spent, has_dedupe_key,
       has_dependents
   ), attempt as (
     insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, finished_at, outcome, run_started_at, attempt_count)
     select job_id, lease_no + 1, tenant_id, run_no, 'canceled', app.clock(), 'canceled', started_at, attempts_spent from ended
     returning job_id
   ), ${RELEASE_KEYS}, ${counted("canceled", "ended")}, ${publishedOf("'canceled'")}
   select job_id, lane_no, 'canceled' as status, ${RELEASED} as released from ended`,
);
