import { statement, tenantIs } from "@/lib/db";
import { counted } from "./counted";
import { RELEASED } from "./dependencies";
import { toldOf } from "./job-events";
import { RELEASE_KEYS } from "./release-keys";

/** A row for all jobs that differ only in their ids, with their positions. The text of an array is parsed faster than the array. */
export const enqueueJobsSql = statement(
  "enqueue_jobs",
  `select places::text, job_ids::text, deduplicated, conflict, state, ready, lane_no, queued_at, scheduled_for, priority, max_attempts,
     timeout_seconds
   from app.enqueue_jobs($1, $2::jsonb, $3::jsonb, $4::uuid[])`,
);

/** What app.enqueue_job takes besides the tenant, by the names of its parameters without `p_`; a statement has them in this order. */
export const ITEM_FIELDS = [
  "definition_id",
  "definition_version",
  "queue",
  "source",
  "source_ref",
  "priority",
  "payload",
  "tags",
  "metadata",
  "correlation_id",
  "parent_job_id",
  "retried_from_id",
  "scheduled_for",
  "expires_at",
  "max_attempts",
  "timeout_seconds",
  "retry_delay_seconds",
  "retry_multiplier",
  "created_by",
] as const;

/** `payload`: the name of the parameter of the payload or payloads. */
const namedParameters = (payload: string): string =>
  ["tenant", ...ITEM_FIELDS.map((field) => (field === "payload" ? payload : field))]
    .map((name, index) => `p_${name} => $${index + 1}`)
    .join(", ");

/** One job. */
export const enqueueJobSql = statement("enqueue_job", `select * from app.enqueue_job(${namedParameters("payload")})`);

/** The same for an array of payloads. */
export const enqueueAlikeSql = statement(
  "enqueue_alike",
  `select new_ids::text, ready, lane_no, queued_at, scheduled_for, priority, max_attempts, timeout_seconds
   from app.enqueue_alike(${namedParameters("payloads")})`,
);

/** Asks the workers of running jobs to stop them. `unchanged` is true for a job that was asked before. */
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

/** Ends jobs that no worker holds. Each outcome stands in an attempt row without a worker. `released` is the same in each row. */
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
   ), ${RELEASE_KEYS}, ${counted("canceled", "ended")}, ${toldOf("'canceled'")}
   select job_id, lane_no, 'canceled' as status, ${RELEASED} as released from ended`,
);

/** The outcomes of jobs' last runs, locked in the order of their ids, with what a new run needs. A job without a row is not there or not finished. */
export const lockOutcomesSql = statement(
  "lock_outcomes",
  `select a.job_id, a.attempt_no, a.outcome as status, j.lane_no, j.dedupe_key, d.is_active
   from app.job_attempts a
   join app.jobs j on j.id = a.job_id join app.job_definitions d on d.id = j.definition_id
   where ${tenantIs("a.tenant_id")} and a.job_id = any ($2::uuid[]) and a.outcome is not null and not a.superseded
   order by a.job_id for update of a`,
);

const UNMET = `d.child_id = any ($2::uuid[]) and d.state <> 'met' and d.on_failure <> 'run'
     and ${tenantIs("d.tenant_id")} and not app.edge_holds(d.type, d.condition, o.outcome, o.result)`;

/**
 * Those of the given jobs that wait for a job which is over, was not what they wait for, and does not begin a new run with
 * them: because it is not among them, is one of $3, or is held itself.
 */
export const heldByParentsSql = statement(
  "held_by_parents",
  `with recursive held (job_id) as (
     select d.child_id from app.job_dependencies d cross join lateral app.outcomes_of(array[d.parent_id]) o
     where ${UNMET} and (d.parent_id <> all ($2::uuid[]) or d.parent_id = any ($3::uuid[]))
       and not exists (select 1 from app.live_jobs l where l.job_id = d.parent_id and ${tenantIs("l.tenant_id")})
     union
     select d.child_id from held h join app.job_dependencies d on d.parent_id = h.job_id
       cross join lateral app.outcomes_of(array[d.parent_id]) o
     where ${UNMET}
   )
   select job_id from held`,
);

/** Takes the dedupe keys $3 for the jobs $2 again, side by side; answers who holds each key now. */
export const takeKeysSql = statement(
  "take_keys_again",
  `select key, job_id from app.take_dedupe_keys($1, $3::text[], $2::uuid[], array_fill(null::timestamptz, array[cardinality($3::text[])]))`,
);

/** Ends the keys of jobs that took them and are not to have them after all, as the end of a job does. */
export const giveKeysBackSql = statement(
  "give_keys_back",
  `with ended as (
     select $1::uuid as tenant_id, x.id as job_id, true as has_dedupe_key from unnest($2::uuid[]) x (id)
   ), ${RELEASE_KEYS}
   select 1 from ended limit 0`,
);

export const reviveKeysSql = statement(
  "revive_dedupe_keys",
  `update app.dedupe_keys k set live = true from unnest($2::uuid[], $3::text[]) x (job_id, key)
   where ${tenantIs("k.tenant_id")} and k.key = x.key and k.job_id = x.job_id`,
);

/** Starts the next runs of finished jobs: the old outcomes ($3 are their attempts) give way, lease numbers go on rising, attempts start anew. */
export const startRunsSql = statement(
  "start_runs",
  `with over as (
     update app.job_attempts a set superseded = true from unnest($2::uuid[], $3::bigint[]) x (job_id, attempt_no)
     where ${tenantIs("a.tenant_id")} and a.job_id = x.job_id and a.attempt_no = x.attempt_no
     returning a.job_id, a.attempt_no, a.run_no
   ), live as (
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for, run_no, lease_no, has_dedupe_key)
     select j.id, j.tenant_id, j.lane_no, 'queued', true, app.sort_key_of(app.now(), j.priority), j.priority, app.now(),
       over.run_no + 1, over.attempt_no, j.dedupe_key is not null
     from over join app.jobs j on j.id = over.job_id and ${tenantIs("j.tenant_id")}
     returning job_id, tenant_id, lane_no
   ), ${counted("retried", "live")}
   select job_id, lane_no from live`,
);

/** What a job asked for itself, where it did not leave it to its definition or queue. */
export const ownSettingsSql = statement(
  "own_settings",
  `select timeout_seconds, retry_delay_seconds, retry_multiplier, chain_depth from app.jobs where ${tenantIs("tenant_id")} and id = $2`,
);
