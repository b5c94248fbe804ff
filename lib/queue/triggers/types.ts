/** Shapes of triggers and their firings. Client-safe. */

import type { FieldProblem } from "../field-problem";
import type { CatchUpPolicy, GapPolicy, Instant, OverlapPolicy, SchedulePreview } from "../schedules/types";
import type {
  FiringKind,
  FiringOutcome,
  JobStatus,
  RunOverlap,
  ScheduleType,
  TriggerKind,
  TriggerStatus,
} from "../states";

export type { FiringKind, FiringOutcome, RunOverlap, ScheduleType, TriggerKind, TriggerStatus } from "../states";

/** The settings that users give a trigger. */
export interface TriggerSettings {
  readonly label: string;
  readonly trigger_type: TriggerKind;
  readonly is_enabled: boolean;
  readonly definition_key: string;
  /** null = the definition's. */
  readonly queue: string | null;
  /** null = the queue's. */
  readonly priority: number | null;
  readonly payload_template: unknown;
  readonly dedupe_window_seconds: number;
  readonly dedupe_key_template: string | null;
  readonly event_name: string | null;
  readonly condition: string | null;
  readonly schedule_type: ScheduleType | null;
  readonly cron_expr: string | null;
  readonly interval_ms: number | null;
  readonly anchor_at: string | null;
  readonly once_at: string | null;
  readonly timezone: string | null;
  /** null = the schedule's default. */
  readonly dst_policy: { readonly gap: GapPolicy | null; readonly overlap: OverlapPolicy | null };
  readonly overlap_policy: RunOverlap;
  readonly catch_up: CatchUpPolicy;
  readonly catch_up_limit: number;
  readonly jitter_seconds: number;
  readonly max_runs: number | null;
  readonly expires_at: string | null;
}

/** Omitted fields get their defaults. */
export type TriggerInput = Pick<TriggerSettings, "label" | "trigger_type" | "definition_key"> &
  Partial<TriggerSettings>;
/** Omitted fields stay unchanged; null clears a value. */
export type TriggerPatch = Partial<Omit<TriggerSettings, "trigger_type">>;

/** A firing in the outcome bar. */
export interface RecentFiring {
  readonly id: string;
  readonly fire_at: string;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly job_id: string | null;
  readonly job_status: JobStatus | null;
}

export interface Trigger extends TriggerSettings {
  readonly id: string;
  readonly tenant_id: string;
  readonly definition_id: string;
  readonly status: TriggerStatus;
  readonly status_reason: string | null;
  /** The schedule in words; null for events, and for a schedule that can no longer be read. */
  readonly description: string | null;
  readonly run_count: number;
  readonly next_run_at: string | null;
  readonly last_run_at: string | null;
  /** Newest first, at most 20. */
  readonly recent_firings: readonly RecentFiring[];
  /** Outcomes of the recent firings, counted. */
  readonly recent_outcomes: Readonly<Record<FiringOutcome, number>>;
  /** Instants that were skipped within the last seven days. */
  readonly missed_count: number;
  /** Incremented by each change that a user or an API key makes. */
  readonly version: number;
  readonly created_by: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface TriggerFilter {
  readonly trigger_type?: TriggerKind;
  readonly status?: TriggerStatus;
  readonly is_enabled?: boolean;
  readonly definition_key?: string;
  readonly event_name?: string;
  /** Part of the label. */
  readonly q?: string;
}

export interface TriggerPage {
  readonly triggers: readonly Trigger[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

export interface Firing extends RecentFiring {
  readonly trigger_id: string;
  readonly kind: FiringKind;
  readonly event_id: string | null;
  readonly detail: string | null;
  /** More than 1: the number of skipped instants from `fire_at` to `until`. */
  readonly n: number;
  readonly until: string | null;
  readonly is_catch_up: boolean;
  readonly note: string | null;
  readonly created_at: string;
}

export interface FiringFilter {
  readonly outcome?: FiringOutcome;
  readonly kind?: FiringKind;
}

/** The target of a change, which may require a version of the trigger that the caller has seen. */
export interface TriggerTarget {
  readonly triggerId: string;
  /** The versions that the caller may have seen; null = any version. */
  readonly expected: readonly number[] | null;
}

/** The rendered template; `payload` is null if rendering failed. Pointers are into the template. */
export interface TemplateExample {
  readonly payload: unknown;
  readonly problems: readonly FieldProblem[];
}

/** The next instants of a schedule as the API answers them, and its template rendered for the first of them. */
export interface TriggerPreview extends Omit<SchedulePreview, "occurrences"> {
  readonly occurrences: readonly (Omit<Instant, "at"> & { readonly at: string })[];
  readonly example?: TemplateExample;
}
