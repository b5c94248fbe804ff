import * as z from "zod";
import { BULK_ACTIONS, BULK_RESULTS, BULK_STATUSES } from "@/lib/queue/states";
import type { JobAction, JobActionPreview } from "@/lib/queue/types";
import {
  definitionKey,
  id,
  instant,
  instantIn,
  jobStatus,
  listOf,
  pageQuery,
  queryInteger,
  queueName,
} from "../common";
import { LIMITS } from "../limits";
import { jobRow, jobSource } from "./jobs";

export type { JobAction, JobActionPreview } from "@/lib/queue/types";

export const bulkAction = z.enum(BULK_ACTIONS);
export const bulkStatus = z.enum(BULK_STATUSES);
export type BulkAction = z.infer<typeof bulkAction>;

/** The jobs of an action, with the same filters as the job list. An empty filter means every job. */
export const jobActionFilter = z.strictObject({
  status: z.array(jobStatus).min(1).max(9).optional(),
  source: jobSource.optional(),
  queue: queueName.optional(),
  definition_key: definitionKey.optional(),
  tag: z.string().min(1).max(LIMITS.tagLength).optional(),
  correlation_id: z.string().min(1).max(LIMITS.correlationIdLength).optional(),
  created_after: instantIn.optional(),
  created_before: instantIn.optional(),
  q: z.string().min(1).max(LIMITS.searchLength).optional(),
});
export type JobActionFilter = z.infer<typeof jobActionFilter>;

/** Body of POST /api/v1/jobs/actions. */
export const createJobAction = z
  .strictObject({
    action: bulkAction,
    ids: z.array(id).min(1).max(LIMITS.actionIdsMax).optional(),
    filter: jobActionFilter.optional(),
    priority: z.int().min(1).max(LIMITS.priorityMax).optional(),
    scheduled_for: instantIn.optional(),
    dry_run: z.boolean().default(false),
  })
  .refine((value) => (value.ids === undefined) !== (value.filter === undefined), {
    path: ["ids"],
    error: "send ids or filter, one of them",
  });
export type CreateJobAction = z.input<typeof createJobAction>;

const counts = { total: z.int(), done: z.int(), skipped: z.int(), failed: z.int() };

/** An action on many jobs and its progress. `done`, `skipped` and `failed` add up to the jobs processed so far. */
export const jobAction = z.object({
  id,
  action: bulkAction,
  priority: z.int().nullable(),
  scheduled_for: instant.nullable(),
  /** The filter, with the statuses that the action applies to; null when the jobs were listed by id. */
  filter: z.unknown(),
  status: bulkStatus,
  stop_reason: z.string().nullable(),
  ...counts,
  total_relation: z.enum(["eq", "gte"]),
  created_by: z.object({ kind: z.enum(["user", "api_key", "system"]), email: z.string().nullable() }),
  created_at: instant,
  started_at: instant.nullable(),
  finished_at: instant.nullable(),
  abort_requested_at: instant.nullable(),
}) satisfies z.ZodType<JobAction>;

/** The answer to a dry run: how many jobs the action would apply to, and the newest of them. */
export const jobActionPreview = z.object({
  dry_run: z.literal(true),
  action: bulkAction,
  count: z.int(),
  count_relation: z.enum(["eq", "gte"]),
  samples: z.array(jobRow),
}) satisfies z.ZodType<JobActionPreview>;

export const createdJobAction = z.union([jobActionPreview, jobAction]);

export const jobActionList = listOf(jobAction);
export type JobActionList = z.infer<typeof jobActionList>;
export const jobActionListQuery = z.strictObject(pageQuery);
export const jobActionParams = z.strictObject({ actionId: id });
export const abortJobAction = z.strictObject({});

/** The result for one job; `code` is the reason when it was not done. */
export const jobActionResult = z.object({
  job_id: id,
  result: z.enum(BULK_RESULTS),
  code: z.string().nullable(),
});
export type JobActionResult = z.infer<typeof jobActionResult>;

export const jobActionResults = z.object({ data: z.array(jobActionResult), next_after: z.string().nullable() });
export type JobActionResults = z.infer<typeof jobActionResults>;

/** Query of GET /api/v1/jobs/actions/{id}/jobs; `after` is a `next_after` from the previous page. */
export const jobActionResultsQuery = z.strictObject({
  result: z.enum(BULK_RESULTS).optional(),
  limit: queryInteger(1, LIMITS.actionResultsMax).optional(),
  after: z
    .string()
    .regex(/^[1-9][0-9]{0,6}:[1-9][0-9]{0,3}$/, "must be a next_after value")
    .optional(),
});
