/**
 * The states of a job, the legal moves between them and who makes each move.
 * Client-safe. The database repeats it: live states in the CHECK of app.live_jobs.state, terminal ones in the CHECK of
 * app.job_attempts.outcome.
 *
 *   enqueue ─► blocked ─► queued ⇄ paused      (scheduled = queued, not ready yet)
 *                            │ ▲
 *                      claim ▼ │ retry with backoff · lease expired · given back
 *                          running ─► succeeded | failed | dead_letter | canceled
 *   queued, blocked, paused ─► canceled | expired;  blocked ─► failed   (what it waited for did not happen)
 *   failed, dead_letter, canceled, expired ─► queued   (retry: the same job, run_no + 1; blocked if it waits again)
 */
export const LIVE_STATES = ["queued", "blocked", "paused", "running"] as const;
export const TERMINAL_STATES = ["succeeded", "failed", "dead_letter", "canceled", "expired"] as const;
export const JOB_STATUSES = [...LIVE_STATES, ...TERMINAL_STATES] as const;

export type LiveState = (typeof LIVE_STATES)[number];
export type TerminalState = (typeof TERMINAL_STATES)[number];
export type JobStatus = (typeof JOB_STATUSES)[number];

/** How one lease ended. `attempt_no` is its lease number; `spent` is true if it counts against max_attempts. */
export const ATTEMPT_STATUSES = [
  "succeeded",
  "failed",
  "timeout",
  "canceled",
  "worker_lost",
  "released",
  "snoozed",
  "expired",
] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Actions that can be applied to many jobs at once. */
export const BULK_ACTIONS = ["cancel", "retry", "redrive", "pause", "resume", "set_priority", "reschedule"] as const;
export type BulkActionName = (typeof BULK_ACTIONS)[number];

/** The status of a bulk action. aborted: a person ended it; stopped: it ended itself before all jobs were processed. */
export const BULK_STATUSES = ["queued", "running", "done", "aborted", "stopped"] as const;
export type BulkStatus = (typeof BULK_STATUSES)[number];

/** The result of a bulk action for one job. */
export const BULK_RESULTS = ["done", "skipped", "failed"] as const;

/** The status that people give a dead letter. */
export const TRIAGE_STATUSES = ["pending", "investigating", "resolved", "ignored"] as const;
export type TriageStatus = (typeof TRIAGE_STATUSES)[number];
/** The statuses of dead letters that still need attention. */
export const OPEN_TRIAGE: readonly TriageStatus[] = ["pending", "investigating"];

/** What may start a job. */
export const JOB_SOURCES = ["manual", "event", "schedule", "system"] as const;
export type JobSource = (typeof JOB_SOURCES)[number];

/** What runs a job. */
export const EXECUTORS = ["command", "handler", "remote", "webhook"] as const;
export type Executor = (typeof EXECUTORS)[number];

/** How the pause before a retry grows. */
export const RETRY_STRATEGIES = ["exponential", "linear", "fixed", "random", "none"] as const;
export type RetryStrategy = (typeof RETRY_STRATEGIES)[number];

/** What a job needs of its parent. */
export const DEPENDENCY_TYPES = ["completion", "success", "data", "conditional"] as const;
export type DependencyType = (typeof DEPENDENCY_TYPES)[number];

/** Whether a parent has met what its child needs. */
export const DEPENDENCY_STATES = ["pending", "met", "failed"] as const;
export type DependencyState = (typeof DEPENDENCY_STATES)[number];

/** Where a line of a job's log comes from. */
export const LOG_STREAMS = ["stdout", "stderr", "log"] as const;
export type LogStream = (typeof LOG_STREAMS)[number];

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What starts a trigger. */
export const TRIGGER_TYPES = ["event", "schedule"] as const;
export type TriggerKind = (typeof TRIGGER_TYPES)[number];

export const SCHEDULE_TYPES = ["cron", "interval", "once"] as const;
export type ScheduleType = (typeof SCHEDULE_TYPES)[number];

/** What a trigger does while its last job is unfinished. */
export const OVERLAP_POLICIES = ["allow", "skip", "queue_one"] as const;
export type RunOverlap = (typeof OVERLAP_POLICIES)[number];

/** Which missed instants of a schedule run. */
export const CATCH_UPS = ["skip", "last", "all"] as const;
export type CatchUpPolicy = (typeof CATCH_UPS)[number];

/** An instant that the clock skips runs right after the gap, or not at all. */
export const DST_GAPS = ["run_after", "skip"] as const;
export type GapPolicy = (typeof DST_GAPS)[number];

/** An instant that the clock shows twice runs at the first of them, or at both. */
export const DST_OVERLAPS = ["first", "both"] as const;
export type OverlapPolicy = (typeof DST_OVERLAPS)[number];

export const TRIGGER_STATUSES = ["active", "broken", "finished"] as const;
export type TriggerStatus = (typeof TRIGGER_STATUSES)[number];

export const FIRING_KINDS = ["schedule", "event", "manual"] as const;
export type FiringKind = (typeof FIRING_KINDS)[number];

/** The outcomes of a firing. */
export const FIRING_OUTCOMES = ["enqueued", "deduplicated", "skipped", "failed"] as const;
export type FiringOutcome = (typeof FIRING_OUTCOMES)[number];

/** What a preview of a schedule warns of. */
export const PREVIEW_WARNINGS = ["never", "too_often"] as const;
export type ScheduleWarning = (typeof PREVIEW_WARNINGS)[number];

/** Who published an event. */
export const EVENT_SOURCES = ["api", "app", "job", "scheduler"] as const;
export type EventSource = (typeof EVENT_SOURCES)[number];

/** Why an event started no job. */
export const EVENT_REASONS = ["no_trigger", "no_match", "loop", "suspended", "failed"] as const;
export type EventReason = (typeof EVENT_REASONS)[number];

/** What a pause holds. */
export const PAUSE_SCOPES = ["all", "queue", "definition", "tenant"] as const;
export type PauseScope = (typeof PAUSE_SCOPES)[number];

/** Why a job that has not ended is not running. */
export const WAIT_CODES = [
  "scheduled",
  "retry_backoff",
  "blocked",
  "paused",
  "suspended",
  "no_worker",
  "at_limit",
  "rate_limited",
  "position",
] as const;
export type WaitCode = (typeof WAIT_CODES)[number];

/** What a limit counts. Scopes that begin with `tenant` count the jobs of one tenant, or of each tenant apart. */
export const LIMIT_SCOPES = ["queue", "definition", "tenant_queue", "tenant_definition"] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];

/** The status of a worker, by the age of its heartbeat. */
export const WORKER_STATUSES = ["live", "late", "stale", "dead", "draining", "stopped"] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

type Mover = "worker" | "scheduler" | "person";

const MOVES: Readonly<Record<JobStatus, Readonly<Partial<Record<JobStatus, readonly Mover[]>>>>> = {
  queued: {
    running: ["worker"],
    paused: ["person"],
    canceled: ["person"],
    expired: ["scheduler", "worker"],
  },
  // The move is made in the transaction that ends the last parent, whichever process that is.
  blocked: {
    queued: ["worker", "scheduler", "person"],
    canceled: ["person", "worker", "scheduler"],
    failed: ["worker", "scheduler", "person"],
    expired: ["scheduler", "worker"],
  },
  paused: { queued: ["person"], canceled: ["person"], expired: ["scheduler", "worker"] },
  running: {
    queued: ["worker", "scheduler"],
    succeeded: ["worker"],
    failed: ["worker", "scheduler"],
    dead_letter: ["worker", "scheduler"],
    canceled: ["worker", "scheduler"],
  },
  succeeded: {},
  failed: { queued: ["person"] },
  dead_letter: { queued: ["person"] },
  canceled: { queued: ["person"] },
  expired: { queued: ["person"] },
};

/** Returns true if a job may move from one status to another, and if a mover is named, whether that mover may do it. */
export function canMove(from: JobStatus, to: JobStatus, mover?: Mover): boolean {
  const movers = MOVES[from][to];
  return movers !== undefined && (mover === undefined || movers.includes(mover));
}

export function isTerminal(status: JobStatus): status is TerminalState {
  return (TERMINAL_STATES as readonly string[]).includes(status);
}

/**
 * True if a person may retry the job: it ended, but not as succeeded. A succeeded job is enqueued as a new job instead.
 */
export function isRetryable(status: JobStatus): boolean {
  return canMove(status, "queued", "person") && isTerminal(status);
}

/** True if a person may pause the job: it waits only for its turn or its scheduled time. */
export function isPausable(status: JobStatus): boolean {
  return canMove(status, "paused", "person");
}

/** True if a person may resume the job. */
export function isResumable(status: JobStatus): boolean {
  return status === "paused" && canMove(status, "queued", "person");
}

/** True if priority and time of the job may be changed: it is queued or paused. */
export function isChangeable(status: JobStatus): boolean {
  return status === "queued" || status === "paused";
}

/** True if a person may cancel the job: it has not ended. A running job is asked to stop first. */
export function isCancelable(status: JobStatus): boolean {
  return !isTerminal(status);
}
