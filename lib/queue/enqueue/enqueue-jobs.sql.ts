import { statement } from "@/lib/db";

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
