import * as z from "zod";
import { OPEN_TRIAGE, TRIAGE_STATUSES } from "@/lib/queue/states";
import type { DeadLetter, JobEvent } from "@/lib/queue/types";
import { definitionKey, id, instant, json, listOf, pageQuery } from "../common";
import { LIMITS } from "../limits";
import { jobAction, jobActionPreview } from "./job-actions";
import { job, jobRow } from "./jobs";

export type { DeadLetter, JobEvent } from "@/lib/queue/types";

export const triageStatus = z.enum(TRIAGE_STATUSES);

const errorType = z.string().min(1).max(100);

/** A job that failed permanently, and its triage. */
export const deadLetter = z.object({
  id,
  status: triageStatus,
  note: z.string(),
  changed_at: instant.nullable(),
  changed_by: z.string().nullable(),
  /** The newest job created from it with another payload. */
  retried_by_id: id.nullable(),
  job: jobRow,
}) satisfies z.ZodType<DeadLetter>;

/** One action on a job: the actor, the action, and the status before and after. */
export const jobEvent = z.object({
  at: instant,
  action: z.string(),
  from_status: z.string().nullable(),
  to_status: z.string().nullable(),
  note: z.string().nullable(),
  actor_kind: z.enum(["user", "api_key", "system"]),
  actor: z.string().nullable(),
}) satisfies z.ZodType<JobEvent>;

export const deadLetterDetail = deadLetter.extend({ history: z.array(jobEvent) });
export type DeadLetterDetail = z.infer<typeof deadLetterDetail>;

export const deadLetterList = listOf(deadLetter);
export type DeadLetterList = z.infer<typeof deadLetterList>;
export const deadLetterParams = z.strictObject({ jobId: id });

const statuses = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((text) => text.split(",")))
  .pipe(z.array(triageStatus).min(1).max(TRIAGE_STATUSES.length));

/** Query of GET /api/v1/jobs/dead-letters; `status` may be repeated or comma separated. */
export const deadLetterListQuery = z.strictObject({
  ...pageQuery,
  status: statuses.optional().meta({ description: `Repeated or separated by commas: ${TRIAGE_STATUSES.join(", ")}` }),
  definition_key: definitionKey.optional(),
  error_type: errorType.optional(),
});
export type DeadLetterListQuery = z.infer<typeof deadLetterListQuery>;

/** Body of PATCH /api/v1/jobs/dead-letters/{id}. */
export const changeDeadLetter = z
  .strictObject({ status: triageStatus.optional(), note: z.string().max(LIMITS.noteLength).optional() })
  .refine((value) => Object.keys(value).length > 0, "must name status, note or both");
export type ChangeDeadLetter = z.infer<typeof changeDeadLetter>;

/** Body of POST /api/v1/jobs/dead-letters/redrive. */
export const redrive = z
  .strictObject({
    ids: z.array(id).min(1).max(LIMITS.actionIdsMax).optional(),
    definition_key: definitionKey.optional(),
    error_type: errorType.optional(),
    status: z
      .array(triageStatus)
      .min(1)
      .max(TRIAGE_STATUSES.length)
      .optional()
      .meta({ description: `Default for a filter or all: ${OPEN_TRIAGE.join(" and ")}` }),
    all: z.literal(true).optional(),
    payload: json.optional(),
    dry_run: z.boolean().default(false),
  })
  .superRefine((value, context) => {
    const filtered = value.definition_key ?? value.error_type ?? value.status ?? value.all;
    const issue = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    if ((value.ids === undefined) === (filtered === undefined))
      issue("ids", "send ids, or a filter (definition_key, error_type, status), or all: true");
    if ("payload" in value && value.ids?.length !== 1) issue("payload", "is for one dead letter: send one id");
    if ("payload" in value && value.dry_run) issue("dry_run", "cannot be combined with a payload");
  });
export type Redrive = z.input<typeof redrive>;

/** A dry run answers with a count, a payload with a new job, anything else with an action on many jobs. */
export const redriven = z.union([jobActionPreview, jobAction, job]);
