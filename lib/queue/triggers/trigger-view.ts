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
  trigger_type: row.trigger_type,
  is_enabled: row.is_enabled,
  definition_key: row.definition_key,
  queue: row.queue,
  priority: row.priority,
  payload_template: row.payload_template,
  dedupe_window_seconds: row.dedupe_window_seconds,
  dedupe_key_template: row.dedupe_key_template,
  event_name: row.event_name,
  condition: row.condition,
  schedule_type: row.schedule_type,
  cron_expr: row.cron_expr,
  interval_ms: row.interval_ms,
  anchor_at: row.anchor_at,
  once_at: row.once_at,
  timezone: row.timezone,
  dst_gap: row.dst_gap,
  dst_overlap: row.dst_overlap,
  overlap_policy: row.overlap_policy,
  catch_up: row.catch_up,
  catch_up_limit: row.catch_up_limit,
  jitter_seconds: row.jitter_seconds,
  max_runs: row.max_runs,
  expires_at: row.expires_at,
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
    tenant_id: row.tenant_id,
    definition_id: row.definition_id,
    status: row.status,
    status_reason: row.status_reason,
    description: describe(settings),
    run_count: row.run_count,
    next_run_at: row.next_run_at,
    last_run_at: row.last_run_at,
    recent_firings: recent.get(row.id) ?? [],
    missed_count: missed.get(row.id) ?? 0,
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function describe(settings: TriggerSettings): string | null {
  if (settings.trigger_type === "event") return null;
  const read = readSchedule(scheduleFields(settings));
  return read.rule ? describeSchedule(read.rule) : null;
}

export const toRecentFiring = (row: RecentRow, statuses: ReadonlyMap<string, JobStatus>): RecentFiring => ({
  id: row.id,
  fire_at: row.fire_at,
  outcome: row.outcome,
  reason: row.reason,
  job_id: row.job_id,
  job_status: row.job_id === null ? null : (statuses.get(row.job_id) ?? null),
});

export const toFiringView = (row: FiringRow, statuses: ReadonlyMap<string, JobStatus>): FiringView => ({
  ...toRecentFiring(row, statuses),
  trigger_id: row.trigger_id,
  kind: row.kind,
  event_id: row.event_id,
  detail: row.detail,
  n: row.n,
  until: row.until,
  is_catch_up: row.is_catch_up,
  note: row.note,
  created_at: row.created_at,
});
