/** The shapes of schedules: what a trigger says about time, and what the time engine makes of it. Client-safe. */

/** What becomes of a local time that a clock change leaves out: one run right after the gap, or none. */
export type GapPolicy = "run_after" | "skip";

/** What becomes of a local time that a clock change makes happen twice. */
export type OverlapPolicy = "first" | "both";

/** null: by the hour field of the expression. Starts it with `*`, then skip and both; otherwise run_after and first. */
interface CronRule {
  readonly type: "cron";
  /** As given, with single blanks. */
  readonly expr: string;
  /** An IANA name, as given. */
  readonly timezone: string;
  readonly gap: GapPolicy | null;
  readonly overlap: OverlapPolicy | null;
}

/** Instants are `anchorAt + n · everyMs` for whole n ≥ 0. The zone only says how they are shown. */
interface IntervalRule {
  readonly type: "interval";
  readonly everyMs: number;
  readonly anchorAt: Date;
  readonly timezone: string;
}

interface OnceRule {
  readonly type: "once";
  readonly at: Date;
  readonly timezone: string;
}

/** A schedule that passed `readSchedule`. */
export type ScheduleRule = CronRule | IntervalRule | OnceRule;

/** The schedule fields of a trigger, from a request or from its row. null and undefined alike mean: not given. */
export interface ScheduleFields {
  readonly scheduleType?: string | null;
  readonly cronExpr?: string | null;
  readonly intervalMs?: number | null;
  readonly anchorAt?: Date | null;
  readonly onceAt?: Date | null;
  readonly timezone?: string | null;
  readonly dstGap?: string | null;
  readonly dstOverlap?: string | null;
}

/** One due moment of a schedule. */
export interface Instant {
  readonly at: Date;
  /** The same in the trigger's zone, RFC 3339 with its offset. */
  readonly local: string;
  /** Words about a clock change that moved, doubled or left out a local time; null for nearly all. */
  readonly note: string | null;
}

export type ScheduleWarning = "never" | "too_often";

export interface PreviewRequest {
  readonly rule: ScheduleRule;
  /** Instants after this one, not itself. */
  readonly after: Date;
  /** 1 to 100. */
  readonly count: number;
  readonly expiresAt?: Date | null;
  /** Runs that are left, as far as they are limited. */
  readonly runsLeft?: number | null;
}

export interface SchedulePreview {
  readonly description: string;
  readonly occurrences: readonly Instant[];
  /** never: no instant before `expiresAt`. too_often: two instants less than 60 s apart. */
  readonly warnings: readonly ScheduleWarning[];
}

export type CatchUpPolicy = "skip" | "last" | "all";

export interface DueRequest {
  readonly rule: ScheduleRule;
  /** The stored ones: `nextRunAt` null means that nothing is to come. */
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
  /** The database's clock. */
  readonly now: Date;
  readonly catchUp: CatchUpPolicy;
  /** Most missed instants that `all` makes up for. */
  readonly catchUpLimit: number;
  readonly jitterSeconds: number;
  readonly maxRuns: number | null;
  /** Runs so far. */
  readonly runCount: number;
  readonly expiresAt: Date | null;
  /** Since when the trigger is as it is. Local times that `skip` left out since then are named; without it none are. */
  readonly since?: Date | null;
  /** In [0, 1) for an instant; `instantChance` gives one that every scheduler agrees on. */
  readonly random: (at: Date) => number;
}

export interface DueInstant {
  readonly at: Date;
  readonly local: string;
  readonly note: string | null;
  /** It is late, or stands for others that were missed. */
  readonly isCatchUp: boolean;
  /** When its job may start: the instant, or now for a late one, plus jitter and spread. */
  readonly startAt: Date;
}

/** One skipped instant (`n` 1, `until` null), or a run of `n` of them from `at` to `until`. */
export interface SkippedInstants {
  readonly at: Date;
  readonly until: Date | null;
  readonly n: number;
  /** dst_gap: its local time did not exist, and the trigger would rather skip it. */
  readonly reason: "catch_up" | "max_runs" | "expired" | "dst_gap";
  readonly note?: string | null;
}

export interface DueDecision {
  /** Oldest first. */
  readonly fire: readonly DueInstant[];
  /** Oldest first; at most 1,001 entries, and those of dst_gap: the newest 1,000 one by one, what is older as one range. */
  readonly skipped: readonly SkippedInstants[];
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
  /** Why nothing will follow; null while something will. */
  readonly finished: "max_runs" | "expired" | "over" | null;
}
