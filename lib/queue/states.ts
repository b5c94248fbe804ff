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
