import * as z from "zod";
import {
  CATCH_UPS,
  DST_GAPS,
  DST_OVERLAPS,
  FIRING_KINDS,
  FIRING_OUTCOMES,
  OVERLAP_POLICIES,
  PREVIEW_WARNINGS,
  SCHEDULE_TYPES,
  TRIGGER_STATUSES,
  TRIGGER_TYPES,
} from "@/lib/queue/states";
import type { Firing, Trigger, TriggerPreview } from "@/lib/queue/types";
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
  queryInteger,
  queueName,
} from "./common";
import { job } from "./jobs/jobs";
import { LIMITS } from "./limits";

export type { Firing, Trigger, TriggerPreview } from "@/lib/queue/types";

export const triggerType = z.enum(TRIGGER_TYPES);
export const scheduleType = z.enum(SCHEDULE_TYPES);
export const overlapPolicy = z.enum(OVERLAP_POLICIES);
export const catchUp = z.enum(CATCH_UPS);
export const triggerStatus = z.enum(TRIGGER_STATUSES);
export const firingKind = z.enum(FIRING_KINDS);
export const firingOutcome = z.enum(FIRING_OUTCOMES);

export const eventName = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,198}[A-Za-z0-9])?$/,
    "must be an event name, such as provider.folder.updated",
  );

/** Behavior at the two clock changes; null means the schedule's own rule. */
const dstPolicy = z.strictObject({
  gap: z.enum(DST_GAPS).nullable().default(null),
  overlap: z.enum(DST_OVERLAPS).nullable().default(null),
});

// Their values and combinations are validated where schedules and templates are parsed.
const text = z.string().max(1000);
const label = z.string().trim().min(1).max(LIMITS.nameLength);
const scheduleFields = {
  schedule_type: scheduleType.nullable().optional(),
  cron_expr: text.nullable().optional(),
  interval_ms: z.int().nullable().optional(),
  anchor_at: instantIn.nullable().optional(),
  once_at: instantIn.nullable().optional(),
  timezone: text.nullable().optional(),
  dst_policy: dstPolicy.nullable().optional(),
  expires_at: instantIn.nullable().optional(),
};
const settings = {
  ...scheduleFields,
  is_enabled: z.boolean().optional(),
  queue: queueName.nullable().optional(),
  priority: z.int().min(1).max(LIMITS.priorityMax).nullable().optional(),
  payload_template: json.optional(),
  dedupe_window_seconds: z.int().min(0).max(LIMITS.dedupeWindowSecondsMax).optional(),
  dedupe_key_template: z.string().min(1).max(1000).nullable().optional(),
  condition: z.string().min(1).max(4000).nullable().optional(),
  overlap_policy: overlapPolicy.optional(),
  catch_up: catchUp.optional(),
  catch_up_limit: z.int().min(1).max(LIMITS.catchUpMax).optional(),
  jitter_seconds: z.int().min(0).max(LIMITS.jitterSecondsMax).optional(),
  max_runs: z.int().min(1).max(2_147_483_647).nullable().optional(),
};

/** Body of POST /api/v1/jobs/triggers. */
export const createTriggerBody = z.strictObject({
  label,
  trigger_type: triggerType,
  definition_key: definitionKey,
  event_name: eventName.nullable().optional(),
  ...settings,
});
export type CreateTrigger = z.input<typeof createTriggerBody>;

/**
 * Body of PATCH /api/v1/jobs/triggers/{id}: omitted fields are unchanged; null removes a value, so that its default
 * applies again. Each field is replaced as a whole, even an object. trigger_type never changes.
 */
export const updateTrigger = z
  .strictObject({
    label: label.optional(),
    definition_key: definitionKey.optional(),
    event_name: eventName.nullable().optional(),
    ...settings,
  })
  .refine((value) => Object.keys(value).length > 0, "must name at least one field");
export type UpdateTrigger = z.input<typeof updateTrigger>;

/** The outcome of one instant, event or manual run. A row with n > 1 stands for n skipped instants up to `until`. */
export const firing = z.object({
  id,
  trigger_id: id,
  kind: firingKind,
  fire_at: instant,
  event_id: id.nullable(),
  outcome: firingOutcome,
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  n: z.int(),
  until: instant.nullable(),
  job_id: id.nullable(),
  /** The job's current status; null without a job, and when its record is gone. */
  job_status: jobStatus.nullable(),
  is_catch_up: z.boolean(),
  note: z.string().nullable(),
  created_at: instant,
}) satisfies z.ZodType<Firing>;

export const recentFiring = z.object({
  id,
  fire_at: instant,
  outcome: firingOutcome,
  reason: z.string().nullable(),
  job_id: id.nullable(),
  job_status: jobStatus.nullable(),
});

export const trigger = z.object({
  id,
  tenant_id: id,
  label: z.string(),
  trigger_type: triggerType,
  is_enabled: z.boolean(),
  /** broken: it cannot fire, and `status_reason` says why. finished: it will not fire again. */
  status: triggerStatus,
  status_reason: z.string().nullable(),
  definition_id: id,
  definition_key: z.string(),
  queue: z.string().nullable(),
  priority: z.int().nullable(),
  payload_template: json,
  dedupe_window_seconds: z.int(),
  dedupe_key_template: z.string().nullable(),
  event_name: z.string().nullable(),
  condition: z.string().nullable(),
  schedule_type: scheduleType.nullable(),
  cron_expr: z.string().nullable(),
  interval_ms: z.number().nullable(),
  anchor_at: instant.nullable(),
  once_at: instant.nullable(),
  timezone: z.string().nullable(),
  dst_policy: z.object({ gap: z.enum(DST_GAPS).nullable(), overlap: z.enum(DST_OVERLAPS).nullable() }),
  /** The schedule in words; null for events. */
  description: z.string().nullable(),
  overlap_policy: overlapPolicy,
  catch_up: catchUp,
  catch_up_limit: z.int(),
  jitter_seconds: z.int(),
  max_runs: z.int().nullable(),
  expires_at: instant.nullable(),
  run_count: z.int(),
  next_run_at: instant.nullable(),
  last_run_at: instant.nullable(),
  /** The newest firings, newest first, 20 at most. */
  recent_firings: z.array(recentFiring),
  /** Outcomes of the recent firings, counted. */
  recent_outcomes: z.record(firingOutcome, z.int()),
  /** Instants skipped within the last seven days. */
  missed_count: z.int(),
  version: z.int(),
  created_by: id.nullable(),
  created_at: instant,
  updated_at: instant,
}) satisfies z.ZodType<Trigger>;

export const triggerParams = z.strictObject({ triggerId: id });
export const triggerList = listOf(trigger);
export type TriggerList = ListOf<Trigger>;

/** Query of GET /api/v1/jobs/triggers. */
export const triggerListQuery = z.strictObject({
  ...pageQuery,
  trigger_type: triggerType.optional(),
  status: triggerStatus.optional(),
  is_enabled: z
    .enum(["true", "false"])
    .transform((word) => word === "true")
    .optional(),
  definition_key: definitionKey.optional(),
  event_name: eventName.optional(),
  q: z.string().min(1).max(LIMITS.searchLength).optional(),
});
export type TriggerListQuery = z.infer<typeof triggerListQuery>;

export const firingListQuery = z.strictObject({
  limit: queryInteger(1, LIMITS.pageSizeMax).optional(),
  cursor: z.string().min(1).max(1024).optional(),
  outcome: firingOutcome.optional(),
  kind: firingKind.optional(),
});
export type FiringListQuery = z.infer<typeof firingListQuery>;

/** A list of firings has a cursor and no total, because firings are too many to count. */
export const firingList = z.object({
  data: z.array(firing),
  pagination: z.object({ limit: z.int(), has_more: z.boolean(), next_cursor: z.string().nullable() }),
});
export type FiringList = z.infer<typeof firingList>;

/**
 * Body of POST /api/v1/jobs/triggers/{id}/run: `payload` replaces the template's result. `event` is the data of a
 * made-up event for the template of an event trigger.
 */
export const runTriggerBody = z
  .strictObject({ payload: json.optional(), event: jsonObject.optional() })
  .refine((value) => !("payload" in value && "event" in value), {
    path: ["event"],
    error: "cannot be combined with a payload, which replaces the template",
  });
export type RunTrigger = z.input<typeof runTriggerBody>;
export const triggerRun = z.object({ firing, job });
export type TriggerRun = z.infer<typeof triggerRun>;

/** Body of POST /api/v1/jobs/triggers/preview: the schedule of a trigger; `after` is the instant to count from. */
export const previewTriggerBody = z.strictObject({
  ...scheduleFields,
  max_runs: settings.max_runs,
  after: instantIn.optional(),
  count: z.int().min(1).max(LIMITS.previewMax).default(10),
  /** Also rendered for the first instant, and validated against this definition's schema if one is given. */
  payload_template: json.optional(),
  definition_key: definitionKey.optional(),
  label: z.string().max(LIMITS.nameLength).optional(),
});
export type PreviewTrigger = z.input<typeof previewTriggerBody>;

export const triggerPreview = z.object({
  description: z.string(),
  /** `local` is the wall time in the trigger's zone with its offset; `note` explains the effect of a clock change. */
  occurrences: z.array(z.object({ at: instant, local: z.string(), note: z.string().nullable() })),
  warnings: z.array(z.enum(PREVIEW_WARNINGS)),
  /** The template's result for the first instant; only when a template was sent. Pointers are into the template. */
  example: z
    .object({
      payload: json,
      problems: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })),
    })
    .optional(),
}) satisfies z.ZodType<TriggerPreview>;
