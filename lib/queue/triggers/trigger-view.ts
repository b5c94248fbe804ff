import { describeSchedule, readSchedule } from "../schedules/rules";
import type { JobStatus } from "../states";
import type { CatchUpPolicy, GapPolicy, OverlapPolicy, TriggerKind } from "../types";
import { scheduleFields } from "./trigger-settings.policy";
import type {
  FiringKind,
  FiringOutcome,
  FiringView,
  RecentFiring,
  RunOverlap,
  ScheduleType,
  TriggerSettings,
  TriggerStatus,
  TriggerView,
} from "./types";

/** A trigger as the statements return it. */
export interface TriggerRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly label: string;
  readonly trigger_type: TriggerKind;
  readonly is_enabled: boolean;
  readonly status: TriggerStatus;
  readonly status_reason: string | null;
  readonly definition_id: string;
  readonly definition_key: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly payload_template: unknown;
  readonly dedupe_window_seconds: number;
  readonly dedupe_key_template: string | null;
  readonly event_name: string | null;
  readonly condition: string | null;
  readonly schedule_type: ScheduleType | null;
  readonly cron_expr: string | null;
  readonly interval_ms: number | null;
  readonly anchor_at: Date | null;
  readonly once_at: Date | null;
  readonly timezone: string | null;
  readonly overlap_policy: RunOverlap;
  readonly catch_up: CatchUpPolicy;
  readonly catch_up_limit: number;
  readonly dst_gap: GapPolicy | null;
  readonly dst_overlap: OverlapPolicy | null;
  readonly jitter_seconds: number;
  readonly max_runs: number | null;
  readonly expires_at: Date | null;
  readonly run_count: number;
  readonly next_run_at: Date | null;
  readonly last_run_at: Date | null;
  readonly version: number;
  readonly created_by: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

export interface RecentRow {
  readonly trigger_id: string;
  readonly id: string;
  readonly fire_at: Date;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly job_id: string | null;
}

export interface FiringRow extends RecentRow {
  readonly kind: FiringKind;
  readonly event_id: string | null;
  readonly detail: string | null;
  readonly n: number;
  readonly until: Date | null;
  readonly is_catch_up: boolean;
  readonly note: string | null;
  readonly created_at: Date;
}

/** Returns the settings of a row. */
export const settingsOf = (row: TriggerRow): TriggerSettings => ({
  label: row.label,
  triggerType: row.trigger_type,
  isEnabled: row.is_enabled,
  definitionKey: row.definition_key,
  queue: row.queue,
  priority: row.priority,
  payloadTemplate: row.payload_template,
  dedupeWindowSeconds: row.dedupe_window_seconds,
  dedupeKeyTemplate: row.dedupe_key_template,
  eventName: row.event_name,
  condition: row.condition,
  scheduleType: row.schedule_type,
  cronExpr: row.cron_expr,
  intervalMs: row.interval_ms,
  anchorAt: row.anchor_at,
  onceAt: row.once_at,
  timezone: row.timezone,
  dstGap: row.dst_gap,
  dstOverlap: row.dst_overlap,
  overlapPolicy: row.overlap_policy,
  catchUp: row.catch_up,
  catchUpLimit: row.catch_up_limit,
  jitterSeconds: row.jitter_seconds,
  maxRuns: row.max_runs,
  expiresAt: row.expires_at,
});

/** Figures of triggers that are not in their rows, by trigger id. */
export interface TriggerFigures {
  readonly recent: ReadonlyMap<string, readonly RecentFiring[]>;
  readonly missed: ReadonlyMap<string, number>;
}

export function toTriggerView(row: TriggerRow, { recent, missed }: TriggerFigures): TriggerView {
  const settings = settingsOf(row);
  return {
    ...settings,
    id: row.id,
    tenantId: row.tenant_id,
    definitionId: row.definition_id,
    status: row.status,
    statusReason: row.status_reason,
    description: describe(settings),
    runCount: row.run_count,
    nextRunAt: row.next_run_at,
    lastRunAt: row.last_run_at,
    recentFirings: recent.get(row.id) ?? [],
    missedCount: missed.get(row.id) ?? 0,
    version: row.version,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function describe(settings: TriggerSettings): string | null {
  if (settings.triggerType === "event") return null;
  const read = readSchedule(scheduleFields(settings));
  return read.rule ? describeSchedule(read.rule) : null;
}

export const toRecentFiring = (row: RecentRow, statuses: ReadonlyMap<string, JobStatus>): RecentFiring => ({
  id: row.id,
  fireAt: row.fire_at,
  outcome: row.outcome,
  reason: row.reason,
  jobId: row.job_id,
  jobStatus: row.job_id === null ? null : (statuses.get(row.job_id) ?? null),
});

export const toFiringView = (row: FiringRow, statuses: ReadonlyMap<string, JobStatus>): FiringView => ({
  ...toRecentFiring(row, statuses),
  triggerId: row.trigger_id,
  kind: row.kind,
  eventId: row.event_id,
  detail: row.detail,
  n: row.n,
  until: row.until,
  isCatchUp: row.is_catch_up,
  note: row.note,
  createdAt: row.created_at,
});
