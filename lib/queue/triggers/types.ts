/** Shapes of triggers and their firings. Client-safe. */

import type { CatchUpPolicy, GapPolicy, OverlapPolicy } from "../schedules/types";
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
  readonly triggerType: TriggerKind;
  readonly isEnabled: boolean;
  readonly definitionKey: string;
  /** null = the definition's. */
  readonly queue: string | null;
  /** null = the queue's. */
  readonly priority: number | null;
  readonly payloadTemplate: unknown;
  readonly dedupeWindowSeconds: number;
  readonly dedupeKeyTemplate: string | null;
  readonly eventName: string | null;
  readonly condition: string | null;
  readonly scheduleType: ScheduleType | null;
  readonly cronExpr: string | null;
  readonly intervalMs: number | null;
  readonly anchorAt: Date | null;
  readonly onceAt: Date | null;
  readonly timezone: string | null;
  readonly dstGap: GapPolicy | null;
  readonly dstOverlap: OverlapPolicy | null;
  readonly overlapPolicy: RunOverlap;
  readonly catchUp: CatchUpPolicy;
  readonly catchUpLimit: number;
  readonly jitterSeconds: number;
  readonly maxRuns: number | null;
  readonly expiresAt: Date | null;
}

/** Omitted fields get their defaults. */
export type TriggerInput = Pick<TriggerSettings, "label" | "triggerType" | "definitionKey"> & Partial<TriggerSettings>;
/** Omitted fields stay unchanged; null clears a value. */
export type TriggerPatch = Partial<Omit<TriggerSettings, "triggerType">>;

/** A firing in the outcome bar. */
export interface RecentFiring {
  readonly id: string;
  readonly fireAt: Date;
  readonly outcome: FiringOutcome;
  readonly reason: string | null;
  readonly jobId: string | null;
  readonly jobStatus: JobStatus | null;
}

export interface TriggerView extends TriggerSettings {
  readonly id: string;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly status: TriggerStatus;
  readonly statusReason: string | null;
  /** The schedule in words; null for events, and for a schedule that can no longer be read. */
  readonly description: string | null;
  readonly runCount: number;
  readonly nextRunAt: Date | null;
  readonly lastRunAt: Date | null;
  /** Newest first, at most 20. */
  readonly recentFirings: readonly RecentFiring[];
  /** Instants that were skipped within the last seven days. */
  readonly missedCount: number;
  /** Incremented by each change that a user or an API key makes. */
  readonly version: number;
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface TriggerFilter {
  readonly triggerType?: TriggerKind;
  readonly status?: TriggerStatus;
  readonly isEnabled?: boolean;
  readonly definitionKey?: string;
  readonly eventName?: string;
  /** Part of the label. */
  readonly q?: string;
}

export interface TriggerPage {
  readonly triggers: readonly TriggerView[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

export interface FiringView extends RecentFiring {
  readonly triggerId: string;
  readonly kind: FiringKind;
  readonly eventId: string | null;
  readonly detail: string | null;
  /** More than 1: the number of skipped instants from `fireAt` to `until`. */
  readonly n: number;
  readonly until: Date | null;
  readonly isCatchUp: boolean;
  readonly note: string | null;
  readonly createdAt: Date;
}

export interface FiringFilter {
  readonly outcome?: FiringOutcome;
  readonly kind?: FiringKind;
}

/** The target of a change that requires the trigger to be at a version that the caller has seen; null = any version. */
export interface TriggerTarget {
  readonly triggerId: string;
  /** The versions that the caller may have seen. */
  readonly expected: readonly number[] | null;
}
