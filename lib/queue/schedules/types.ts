/** Shapes of schedules: a trigger's schedule fields, and what the rules compute from them. Client-safe. */
import type { CatchUpPolicy, GapPolicy, OverlapPolicy, ScheduleWarning } from "../states";

export type { CatchUpPolicy, GapPolicy, OverlapPolicy, ScheduleWarning } from "../states";

/**
 * A null policy depends on the hour field of the expression. If it starts with `*`: skip and both; otherwise
 * run_after and first.
 */
interface CronRule {
  readonly type: "cron";
  /** As given, with single spaces. */
  readonly expr: string;
  /** An IANA name, as given. */
  readonly timezone: string;
  readonly gap: GapPolicy | null;
  readonly overlap: OverlapPolicy | null;
}

/** Instants are `anchorAt + n · everyMs` for whole n ≥ 0. The zone only affects how they are displayed. */
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

/** The schedule fields of a trigger, from a request or its row. Null and undefined both mean: not given. */
export interface ScheduleFields {
  readonly schedule_type?: string | null;
  readonly cron_expr?: string | null;
  readonly interval_ms?: number | null;
  /** RFC 3339. */
  readonly anchor_at?: string | null | undefined;
  /** RFC 3339. */
  readonly once_at?: string | null | undefined;
  readonly timezone?: string | null;
  readonly dst_policy?: { readonly gap?: string | null; readonly overlap?: string | null } | null;
}

/** One due moment of a schedule. */
export interface Instant {
  readonly at: Date;
  /** The instant in the trigger's zone, RFC 3339 with its offset. */
  readonly local: string;
  /** Describes a clock change that moved, doubled or skipped a local time; null for nearly all instants. */
  readonly note: string | null;
}

export interface PreviewRequest {
  readonly rule: ScheduleRule;
  /** Instants strictly after this one. */
  readonly after: Date;
  /** 1 to 100. */
  readonly count: number;
  readonly expiresAt?: Date | null;
  /** Remaining runs, if they are limited. */
  readonly runsLeft?: number | null;
}

export interface SchedulePreview {
  readonly description: string;
  readonly occurrences: readonly Instant[];
  /** never: no instant before `expiresAt`. too_often: two instants less than 60 s apart. */
  readonly warnings: readonly ScheduleWarning[];
}

export interface DueRequest {
  readonly rule: ScheduleRule;
  /** The stored instants; `nextRunAt` null means that none is to come. */
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
  /** The database's clock. */
  readonly now: Date;
  readonly catchUp: CatchUpPolicy;
  /** The most missed instants that `all` catches up on. */
  readonly catchUpLimit: number;
  readonly jitterSeconds: number;
  readonly maxRuns: number | null;
  /** Runs so far. */
  readonly runCount: number;
  readonly expiresAt: Date | null;
  /**
   * When the trigger was last edited. Local times that `skip` left out since then are reported; without
   * `since` none are.
   */
  readonly since?: Date | null;
  /** Returns a number in [0, 1) for an instant. `instantChance` gives one that every scheduler agrees on. */
  readonly random: (at: Date) => number;
}

export interface DueInstant {
  readonly at: Date;
  readonly local: string;
  readonly note: string | null;
  /** True if the instant is late, or stands for others that were missed. */
  readonly isCatchUp: boolean;
  /** The earliest start of its job: the instant, or now for a late one, plus jitter and spread. */
  readonly startAt: Date;
}

/** One skipped instant (`n` 1, `until` null), or a range of `n` instants from `at` to `until`. */
export interface SkippedInstants {
  readonly at: Date;
  readonly until: Date | null;
  readonly n: number;
  /** dst_gap: the local time did not exist, and the trigger's policy is skip. */
  readonly reason: "catch_up" | "max_runs" | "expired" | "dst_gap";
  readonly note?: string | null;
}

export interface DueDecision {
  /** Oldest first. */
  readonly fire: readonly DueInstant[];
  /**
   * Oldest first. At most 1,001 entries plus those of dst_gap: the newest 1,000 individually, older ones as one range.
   */
  readonly skipped: readonly SkippedInstants[];
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
  /** Why no instant will follow; null while one will. */
  readonly finished: "max_runs" | "expired" | "over" | null;
}
