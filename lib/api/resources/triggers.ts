import type * as z from "zod";
import type {
  createTriggerBody,
  Firing,
  FiringListQuery,
  previewTriggerBody,
  Trigger,
  TriggerListQuery,
  TriggerPreview,
  updateTrigger,
} from "@/lib/contract";
import type {
  FiringFilter,
  TriggerPreview as Preview,
  PreviewInput,
  TriggerFilter,
  TriggerInput,
  TriggerPatch,
} from "@/lib/queue";
import type { FIRING_OUTCOMES } from "@/lib/queue/states";
import type { FiringView, RecentFiring, TriggerView } from "@/lib/queue/types";
import { defined } from "./filters";

type Update = z.output<typeof updateTrigger>;

/** Converts the body of a request for a new trigger to the queue's terms. */
export function triggerInput(body: z.output<typeof createTriggerBody>): TriggerInput {
  return {
    ...triggerPatch(body),
    label: body.label,
    triggerType: body.trigger_type,
    definitionKey: body.definition_key,
  };
}

/** Converts the body of a change to the queue's terms: fields not sent are absent, and null is null. */
export function triggerPatch(body: z.output<typeof updateTrigger>): TriggerPatch {
  return defined({
    label: body.label,
    isEnabled: body.is_enabled,
    definitionKey: body.definition_key,
    queue: body.queue,
    priority: body.priority,
    payloadTemplate: body.payload_template,
    dedupeWindowSeconds: body.dedupe_window_seconds,
    dedupeKeyTemplate: body.dedupe_key_template,
    eventName: body.event_name,
    condition: body.condition,
    overlapPolicy: body.overlap_policy,
    catchUp: body.catch_up,
    catchUpLimit: body.catch_up_limit,
    jitterSeconds: body.jitter_seconds,
    maxRuns: body.max_runs,
    ...schedulePart(body),
  });
}

type SchedulePart = Pick<
  Update,
  "schedule_type" | "cron_expr" | "interval_ms" | "anchor_at" | "once_at" | "timezone" | "dst_policy" | "expires_at"
>;

const schedulePart = (body: SchedulePart) => ({
  scheduleType: body.schedule_type,
  cronExpr: body.cron_expr,
  intervalMs: body.interval_ms,
  anchorAt: dateOrNull(body.anchor_at),
  onceAt: dateOrNull(body.once_at),
  timezone: body.timezone,
  dstGap: body.dst_policy === undefined ? undefined : (body.dst_policy?.gap ?? null),
  dstOverlap: body.dst_policy === undefined ? undefined : (body.dst_policy?.overlap ?? null),
  expiresAt: dateOrNull(body.expires_at),
});

const dateOrNull = (text: string | null | undefined): Date | null | undefined =>
  typeof text === "string" ? new Date(text) : text;

/** Converts the body of a preview to the queue's terms. */
export function previewInput(body: z.output<typeof previewTriggerBody>): PreviewInput {
  const schedule = defined({ ...schedulePart(body), maxRuns: body.max_runs });
  const { payload_template: source, definition_key: definitionKey, label } = body;
  const template = source === undefined ? undefined : { source, ...defined({ definitionKey, label }) };
  return { schedule, count: body.count, ...defined({ after: dateOrNull(body.after) ?? undefined, template }) };
}

/** Converts the query of a list of triggers to the queue's terms. */
export const triggerFilter = (query: Omit<TriggerListQuery, "limit" | "offset" | "cursor">): TriggerFilter =>
  defined({
    triggerType: query.trigger_type,
    status: query.status,
    isEnabled: query.is_enabled,
    definitionKey: query.definition_key,
    eventName: query.event_name,
    q: query.q,
  });

export const firingFilter = ({ outcome, kind }: FiringListQuery): FiringFilter => defined({ outcome, kind });

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

export function serializeTrigger(view: TriggerView): Trigger {
  return {
    id: view.id,
    tenant_id: view.tenantId,
    label: view.label,
    trigger_type: view.triggerType,
    is_enabled: view.isEnabled,
    status: view.status,
    status_reason: view.statusReason,
    definition_id: view.definitionId,
    definition_key: view.definitionKey,
    queue: view.queue,
    priority: view.priority,
    payload_template: view.payloadTemplate,
    dedupe_window_seconds: view.dedupeWindowSeconds,
    dedupe_key_template: view.dedupeKeyTemplate,
    event_name: view.eventName,
    condition: view.condition,
    schedule_type: view.scheduleType,
    cron_expr: view.cronExpr,
    interval_ms: view.intervalMs,
    anchor_at: iso(view.anchorAt),
    once_at: iso(view.onceAt),
    timezone: view.timezone,
    dst_policy: { gap: view.dstGap, overlap: view.dstOverlap },
    description: view.description,
    overlap_policy: view.overlapPolicy,
    catch_up: view.catchUp,
    catch_up_limit: view.catchUpLimit,
    jitter_seconds: view.jitterSeconds,
    max_runs: view.maxRuns,
    expires_at: iso(view.expiresAt),
    run_count: view.runCount,
    next_run_at: iso(view.nextRunAt),
    last_run_at: iso(view.lastRunAt),
    recent_firings: view.recentFirings.map(serializeRecent),
    recent_outcomes: countOutcomes(view.recentFirings),
    missed_count: view.missedCount,
    version: view.version,
    created_by: view.createdBy,
    created_at: view.createdAt.toISOString(),
    updated_at: view.updatedAt.toISOString(),
  };
}

const serializeRecent = (firing: RecentFiring) => ({
  id: firing.id,
  fire_at: firing.fireAt.toISOString(),
  outcome: firing.outcome,
  reason: firing.reason,
  job_id: firing.jobId,
  job_status: firing.jobStatus,
});

function countOutcomes(firings: readonly RecentFiring[]): Record<(typeof FIRING_OUTCOMES)[number], number> {
  const counts = { enqueued: 0, deduplicated: 0, skipped: 0, failed: 0 };
  for (const { outcome } of firings) counts[outcome]++;
  return counts;
}

export const serializeFiring = (firing: FiringView): Firing => ({
  ...serializeRecent(firing),
  trigger_id: firing.triggerId,
  kind: firing.kind,
  event_id: firing.eventId,
  detail: firing.detail,
  n: firing.n,
  until: iso(firing.until),
  is_catch_up: firing.isCatchUp,
  note: firing.note,
  created_at: firing.createdAt.toISOString(),
});

export const serializeTriggerPreview = ({ description, occurrences, warnings, example }: Preview): TriggerPreview => ({
  description,
  occurrences: occurrences.map(({ at, local, note }) => ({ at: at.toISOString(), local, note })),
  warnings: [...warnings],
  ...(example ? { example: { payload: example.payload, problems: [...example.problems] } } : {}),
});
