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
    trigger_type: body.trigger_type,
    definition_key: body.definition_key,
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
    tenant_id: view.tenant_id,
    label: view.label,
    trigger_type: view.trigger_type,
    is_enabled: view.is_enabled,
    status: view.status,
    status_reason: view.status_reason,
    definition_id: view.definition_id,
    definition_key: view.definition_key,
    queue: view.queue,
    priority: view.priority,
    payload_template: view.payload_template,
    dedupe_window_seconds: view.dedupe_window_seconds,
    dedupe_key_template: view.dedupe_key_template,
    event_name: view.event_name,
    condition: view.condition,
    schedule_type: view.schedule_type,
    cron_expr: view.cron_expr,
    interval_ms: view.interval_ms,
    anchor_at: iso(view.anchor_at),
    once_at: iso(view.once_at),
    timezone: view.timezone,
    dst_policy: { gap: view.dst_gap, overlap: view.dst_overlap },
    description: view.description,
    overlap_policy: view.overlap_policy,
    catch_up: view.catch_up,
    catch_up_limit: view.catch_up_limit,
    jitter_seconds: view.jitter_seconds,
    max_runs: view.max_runs,
    expires_at: iso(view.expires_at),
    run_count: view.run_count,
    next_run_at: iso(view.next_run_at),
    last_run_at: iso(view.last_run_at),
    recent_firings: view.recent_firings.map(serializeRecent),
    recent_outcomes: countOutcomes(view.recent_firings),
    missed_count: view.missed_count,
    version: view.version,
    created_by: view.created_by,
    created_at: view.created_at.toISOString(),
    updated_at: view.updated_at.toISOString(),
  };
}

const serializeRecent = (firing: RecentFiring) => ({
  id: firing.id,
  fire_at: firing.fire_at.toISOString(),
  outcome: firing.outcome,
  reason: firing.reason,
  job_id: firing.job_id,
  job_status: firing.job_status,
});

function countOutcomes(firings: readonly RecentFiring[]): Record<(typeof FIRING_OUTCOMES)[number], number> {
  const counts = { enqueued: 0, deduplicated: 0, skipped: 0, failed: 0 };
  for (const { outcome } of firings) counts[outcome]++;
  return counts;
}

export const serializeFiring = (firing: FiringView): Firing => ({
  ...serializeRecent(firing),
  trigger_id: firing.trigger_id,
  kind: firing.kind,
  event_id: firing.event_id,
  detail: firing.detail,
  n: firing.n,
  until: iso(firing.until),
  is_catch_up: firing.is_catch_up,
  note: firing.note,
  created_at: firing.created_at.toISOString(),
});

export const serializeTriggerPreview = ({ description, occurrences, warnings, example }: Preview): TriggerPreview => ({
  description,
  occurrences: occurrences.map(({ at, local, note }) => ({ at: at.toISOString(), local, note })),
  warnings: [...warnings],
  ...(example ? { example: { payload: example.payload, problems: [...example.problems] } } : {}),
});
