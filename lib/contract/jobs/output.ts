import * as z from "zod";
import { ATTEMPT_STATUSES, LOG_STREAMS } from "@/lib/queue/states";
import type { Attempt, LogEntry, Step } from "@/lib/queue/types";
import { id, instant, json, pageQuery, queryInteger } from "../common";
import { LIMITS } from "../limits";
import { jobProgress } from "./jobs";

export type { Attempt, LogEntry, Step } from "@/lib/queue/types";

export const attemptStatus = z.enum(["running", ...ATTEMPT_STATUSES]);
export type ShownAttemptStatus = z.infer<typeof attemptStatus>;

export const attempt = z.object({
  id: z.string(),
  job_id: id,
  attempt_no: z.int(),
  run_no: z.int(),
  worker_id: z.string(),
  status: attemptStatus,
  claimed_at: instant,
  started_at: instant.nullable(),
  finished_at: instant.nullable(),
  duration_ms: z.number().nullable(),
  pid: z.int().nullable(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  error_type: z.string().nullable(),
  error_text: z.string().nullable(),
  stdout_tail: z.string().nullable(),
  stderr_tail: z.string().nullable(),
  stdout_bytes: z.number().nullable(),
  stderr_bytes: z.number().nullable(),
  dropped_bytes: z.number().nullable(),
  cpu_ms: z.number().nullable(),
  peak_rss_bytes: z.number().nullable(),
  retry_at: instant.nullable(),
  progress: jobProgress.nullable(),
}) satisfies z.ZodType<Attempt>;

/**
 * Query of GET /api/v1/jobs/{id}/attempts. A page ends before its texts exceed 512 KiB, but has at least one attempt.
 */
export const attemptListQuery = z.strictObject({
  limit: pageQuery.limit,
  cursor: pageQuery.cursor,
  tails: z
    .enum(["true", "false"])
    .transform((word) => word === "true")
    .optional()
    .meta({
      description: `true includes stdout_tail and stderr_tail, for at most ${LIMITS.attemptsWithTailsMax} attempts and about 512 KiB; otherwise they are null`,
    }),
});

/** A list with a cursor and no total; `attempt_no` of the first row is the number of attempts. */
export const attemptList = z.object({
  data: z.array(attempt),
  pagination: z.object({ limit: z.int(), has_more: z.boolean(), next_cursor: z.string().nullable() }),
});
export type AttemptList = z.infer<typeof attemptList>;

/** A step of a handler. `result` is null and `result_omitted` true when the result is too large to show. */
export const step = z.object({
  name: z.string(),
  run_no: z.int(),
  attempt_no: z.int(),
  created_at: instant,
  result: json,
  result_bytes: z.int(),
  result_omitted: z.boolean(),
}) satisfies z.ZodType<Step>;
/** `next_after` is the position of the next page; null after the last step. */
export const stepList = z.object({ data: z.array(step), next_after: z.string().nullable() });
export type StepList = z.infer<typeof stepList>;

/**
 * Query of GET /api/v1/jobs/{id}/steps; `after` is `<run>:<name>`, from `next_after`. A page ends after 1,000 steps, or
 * before they exceed 512 KiB.
 */
export const stepListQuery = z.strictObject({
  after: z
    .string()
    .regex(/^[1-9][0-9]{0,8}:[^\0]{1,400}$/, "must be a next_after value")
    .optional()
    .meta({ description: "The next_after of the previous page. A page has at most 1,000 steps and about 512 KiB" }),
});

export const logStream = z.enum(LOG_STREAMS);
export const logEntry = z.object({
  attempt_no: z.int(),
  seq: z.int(),
  stream: logStream,
  level: z.enum(["debug", "info", "warn", "error"]).nullable(),
  at: instant,
  body: z.string(),
  context: json,
}) satisfies z.ZodType<LogEntry>;

/**
 * `next_after` is the position of the next page. `has_more` is true if more is stored, regardless of the page's length.
 * `running` is true if more may follow.
 */
export const logPage = z.object({
  data: z.array(logEntry),
  next_after: z.string().nullable(),
  has_more: z.boolean(),
  running: z.boolean(),
});
export type LogPage = z.infer<typeof logPage>;

/** Query of GET /api/v1/jobs/{id}/logs; `after` is `<attempt>:<seq>`, from `next_after`. */
export const logQuery = z.strictObject({
  attempt: queryInteger(1, 2_147_483_647).optional(),
  after: z
    .string()
    .regex(/^[1-9][0-9]{0,9}:[0-9]{1,9}$/, "must be <attempt>:<seq>")
    .optional(),
  limit: queryInteger(1, LIMITS.logPageMax)
    .optional()
    .meta({ description: "A page has at most about 512 KiB. has_more is true if more is stored" }),
  stream: logStream.optional(),
});
export type LogQuery = z.infer<typeof logQuery>;
