import * as z from "zod";
import { id, slug } from "./common";
import { jobRow } from "./jobs/jobs";

/**
 * Query of GET /api/v1/jobs/stream. An EventSource cannot send headers, so this route also takes the tenant (id or
 * slug) as a parameter.
 */
export const streamQuery = z.strictObject({ tenant: z.union([id, slug]).optional() });

/**
 * Names of the server-sent events: `job.changed` carries a JobUpdate, `summary` a JobSummary; `bye` ends a stream
 * intentionally.
 */
export const STREAM_EVENTS = { jobChanged: "job.changed", summary: "summary", bye: "bye" } as const;

/** The data of a `job.changed` event; fetch the job for the other fields. */
export const jobUpdate = jobRow.pick({
  id: true,
  status: true,
  definition_key: true,
  progress: true,
  attempt_count: true,
  max_attempts: true,
  run_no: true,
  started_at: true,
  finished_at: true,
  claimed_by_worker: true,
  cancel_requested_at: true,
});
export type JobUpdate = z.infer<typeof jobUpdate>;
