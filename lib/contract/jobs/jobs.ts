/*
 * Schemas of jobs and of what belongs to them: requests, queries and answers. Requests are strict. For most rows of
 * answers the compiler checks that the schema fits the queue's type (`satisfies`). The fields that callers without
 * `jobs:read` get are listed in `../shown.ts`.
 *
 * Start with `jobRow` and `createJob` below, then `dependencies.ts`, `output.ts` (attempts, steps, logs) and
 * `job-actions.ts` (actions on many jobs).
 */

import * as z from "zod";
import { JOB_SOURCES, JOB_STATUSES, WAIT_CODES } from "@/lib/queue/states";
import type { Job, JobRow, JobSummary, WaitReason } from "@/lib/queue/types";
import {
  definitionKey,
  id,
  instant,
  instantIn,
  jobStatus,
  json,
  jsonObject,
  type ListOf,
  listOf,
  pageQuery,
  queueName,
} from "../common";
import { LIMITS } from "../limits";
import { dependency, jobRef, onParentFailure } from "./dependencies";

export type { Job, JobRow, JobSummary, WaitReason } from "@/lib/queue/types";

export const jobSource = z.enum(JOB_SOURCES);

export const waitReason = z.object({
  code: z.enum(WAIT_CODES),
  detail: z.string(),
  until: instant.optional(),
}) satisfies z.ZodType<WaitReason>;

export const jobProgress = z.object({ percent: z.number(), message: z.string().nullable() });

/** A row of the job list, without the fields that may be large. */
export const jobRow = z.object({
  id,
  tenant_id: id,
  definition_id: id,
  definition_key: z.string(),
  definition_version: z.int(),
  queue: z.string(),
  status: jobStatus,
  source: jobSource,
  source_ref: z.string().nullable(),
  priority: z.int(),
  tags: z.array(z.string()),
  dedupe_key: z.string().nullable(),
  correlation_id: z.string().nullable(),
  parent_job_id: id.nullable(),
  retried_from_id: id.nullable(),
  scheduled_for: instant,
  queued_at: instant,
  started_at: instant.nullable(),
  finished_at: instant.nullable(),
  expires_at: instant.nullable(),
  attempt_count: z.int(),
  max_attempts: z.int(),
  run_no: z.int(),
  timeout_seconds: z.int(),
  lease_expires_at: instant.nullable(),
  claimed_by_worker: z.string().nullable(),
  cancel_requested_at: instant.nullable(),
  progress: jobProgress.nullable(),
  last_error: z.string().nullable(),
  error_type: z.string().nullable(),
  created_by: id.nullable(),
  wait_reason: waitReason.nullable(),
}) satisfies z.ZodType<JobRow>;

export const job = jobRow.extend({
  payload: json,
  metadata: jsonObject,
  result: json,
  retried_by_id: id.nullable().meta({
    description: "The newest edited retry of this job. Its retried_from_id is the id of this job",
  }),
  deduplicated: z.boolean().optional(),
  /** With `deduplicated`: what happened to the job that holds the key. */
  conflict: z.enum(["returned", "replaced", "rescheduled"]).optional(),
}) satisfies z.ZodType<Job>;

/** The answer to an enqueue request. */
export type EnqueueAnswer = Job & Pick<z.infer<typeof job>, "deduplicated" | "conflict">;

const tag = z.string().min(1).max(LIMITS.tagLength);
const dedupe = z
  .strictObject({
    mode: z.enum(["live", "window", "retained"]).default("live"),
    window_seconds: z.int().min(1).max(LIMITS.dedupeWindowSecondsMax).optional(),
    /** What a request with a taken key does to the job that holds it, unless a worker has claimed that job. */
    on_conflict: z.enum(["return", "replace_payload", "reschedule"]).default("return"),
  })
  .refine((value) => (value.mode === "window") === (value.window_seconds !== undefined), {
    path: ["window_seconds"],
    error: "belongs to the mode window, and only to it",
  });

const newJob = {
  definition_key: definitionKey,
  payload: json.default({}),
  queue: queueName.optional(),
  priority: z.int().min(1).max(LIMITS.priorityMax).optional(),
  scheduled_for: instantIn.optional(),
  expires_at: instantIn.optional(),
  tags: z.array(tag).max(LIMITS.tagsMax).optional(),
  metadata: jsonObject.optional(),
  correlation_id: z.string().min(1).max(LIMITS.correlationIdLength).optional(),
  parent_job_id: id.optional(),
  max_attempts: z.int().min(1).max(LIMITS.maxAttemptsMax).optional(),
  timeout_seconds: z.int().min(1).max(LIMITS.timeoutSecondsMax).optional(),
  retry_delay_seconds: z.number().min(0).max(LIMITS.retryDelaySecondsMax).optional(),
  retry_multiplier: z.number().min(1).max(LIMITS.retryMultiplierMax).optional(),
  dedupe_key: z.string().min(1).max(LIMITS.dedupeKeyLength).optional(),
  dedupe: dedupe.optional(),
  depends_on: z.array(dependency).min(1).max(LIMITS.dependenciesMax).optional(),
  on_parent_failure: onParentFailure.optional(),
};
const keyOfDedupe = { path: ["dedupe"], error: "needs a dedupe_key" };
const hasDedupeKey = (value: { dedupe?: unknown; dedupe_key?: string | undefined }): boolean =>
  value.dedupe === undefined || value.dedupe_key !== undefined;

/** Body of POST /api/v1/jobs. */
export const createJob = z.strictObject(newJob).refine(hasDedupeKey, keyOfDedupe);
/** One item of POST /api/v1/jobs/bulk; other items refer to it by its `ref`. */
export const bulkJob = z.strictObject({ ...newJob, ref: jobRef.optional() }).refine(hasDedupeKey, keyOfDedupe);
export type CreateJob = z.input<typeof createJob>;

/** Body of POST /api/v1/jobs/{id}/retry. With a payload, the answer is a new job. */
export const retryJobBody = z.strictObject({ payload: json.optional() });
export type RetryJob = z.infer<typeof retryJobBody>;

/** Body of POST /api/v1/jobs/{id}/cancel. */
export const cancelJobBody = z.strictObject({});

/** Body of POST /api/v1/jobs/{id}/pause and /resume. */
export const pauseJobBody = z.strictObject({});

/** Body of PATCH /api/v1/jobs/{id}, for a queued or paused job. */
export const changeJobBody = z
  .strictObject({ priority: z.int().min(1).max(LIMITS.priorityMax).optional(), scheduled_for: instantIn.optional() })
  .refine((value) => Object.keys(value).length > 0, "must name priority, scheduled_for or both");
export type ChangeJob = z.infer<typeof changeJobBody>;

export const jobParams = z.strictObject({ jobId: id });

const commaSeparated = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((text) => text.split(",")));

/** Query of GET /api/v1/jobs; `status` may be repeated or comma separated. */
export const jobListQuery = z.strictObject({
  ...pageQuery,
  status: commaSeparated
    .pipe(z.array(jobStatus).min(1).max(JOB_STATUSES.length))
    .optional()
    .meta({ description: `Repeated or separated by commas: ${JOB_STATUSES.join(", ")}` }),
  source: jobSource.optional(),
  queue: queueName.optional(),
  definition_key: definitionKey.optional(),
  tag: tag.optional(),
  correlation_id: z.string().min(1).max(LIMITS.correlationIdLength).optional(),
  parent_job_id: id.optional(),
  retried_from_id: id.optional().meta({ description: "The edited retries of this job" }),
  created_after: instantIn.optional(),
  created_before: instantIn.optional(),
  q: z.string().min(1).max(LIMITS.searchLength).optional(),
});
export type JobListQuery = z.infer<typeof jobListQuery>;

export const jobList = listOf(jobRow);
export type JobList = ListOf<JobRow>;

export const jobSummary = z.object({
  counts: z.record(jobStatus, z.int()).meta({
    description:
      "queued, blocked, paused and running count current jobs. succeeded, failed, dead_letter, canceled and expired count runs that ended in the last 24 hours",
  }),
  oldest_queued_age_seconds: z.number().nullable(),
  running_count: z.int(),
  as_of: instant,
}) satisfies z.ZodType<JobSummary>;
