import { statement } from "@/lib/db";

/**
 * Returns one row for all jobs that differ only in their ids and positions. Arrays are sent as text, which is parsed
 * faster.
 */
export const enqueueJobsSql = statement(
  "enqueue_jobs",
  `select places::text, job_ids::text, deduplicated, conflict, state, ready, lane_no, queued_at, scheduled_for, priority, max_attempts,
     timeout_seconds
   from app.enqueue_jobs($1, $2::jsonb, $3::jsonb, $4::uuid[])`,
);

/** Parameters of app.enqueue_job after the tenant, by name without `p_`. The statements pass them in this order. */
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

/** `payload`: the name of the parameter for the payload or payloads. */
const namedParameters = (payload: string): string =>
  ["tenant", ...ITEM_FIELDS.map((field) => (field === "payload" ? payload : field))]
    .map((name, index) => `p_${name} => $${index + 1}`)
    .join(", ");

/** Enqueues one plain job. */
export const enqueueJobSql = statement("enqueue_job", `select * from app.enqueue_job(${namedParameters("payload")})`);

/** Enqueues a plain job for each payload of an array. */
export const enqueueAlikeSql = statement(
  "enqueue_alike",
  `select new_ids::text, ready, lane_no, queued_at, scheduled_for, priority, max_attempts, timeout_seconds
   from app.enqueue_alike(${namedParameters("payloads")})`,
);
