/** Types that only workers and schedulers use. */
import type { PayloadValidator } from "../definitions/arg-schema.policy";
import type { AttemptStatus, TerminalState } from "../states";
import type { Executor, LogLevel, LogStream, NewJob, RetryClasses, RetrySettings } from "../types";

/** The version of a definition under which an attempt runs. */
export interface RunnableDefinition {
  readonly definitionId: string;
  readonly version: number;
  readonly key: string;
  readonly executor: Executor;
  readonly commandKey: string | null;
  /** Checks a payload against the schema of this version. */
  readonly validate: PayloadValidator;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly killGraceSeconds: number;
  readonly retry: RetrySettings;
  readonly retryClasses: RetryClasses;
  readonly deadLetter: boolean;
}

/** Queues and definitions that are active, so that a worker can choose which ones it supports. */
export interface Servable {
  readonly queues: readonly { readonly id: number; readonly name: string }[];
  readonly definitions: readonly {
    readonly id: string;
    readonly key: string;
    readonly executor: Executor;
    readonly commandKey: string | null;
    readonly leaseSeconds: number;
    /** The version with which new jobs are accepted. */
    readonly version: number;
  }[];
}

export interface LogChunk {
  /** Rises by one within an attempt. A chunk with the same number is stored once. */
  readonly seq: number;
  readonly stream: LogStream;
  readonly level?: LogLevel;
  readonly body: string;
  readonly context?: unknown;
}

export interface WorkerRegistration {
  readonly workerId: string;
  readonly hostname: string;
  readonly pid: number;
  readonly version: string;
  readonly label: string;
  /** Queue names; empty = all. */
  readonly queues: readonly string[];
  readonly definitions: readonly string[];
  readonly capacity: number;
  readonly healthPort?: number;
  readonly isolation: string;
  /** Version of the worker's time-zone data, such as "2025b"; none = unknown. */
  readonly tzVersion?: string | null;
}

export interface WorkerSample {
  readonly runningCount: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
  readonly eventLoopLagMs: number;
}

/**
 * Proof of ownership. Every write of a worker to a job names both values, except batch begin marks: see `BegunMark`.
 */
export interface Lease {
  readonly jobId: string;
  readonly leaseNo: number;
}

export interface LaneRequest {
  readonly laneNo: number;
  readonly limit: number;
  readonly leaseSeconds: number;
  /** True if the poll reported limits. With a wrong value the claim gets no jobs, and never too many. */
  readonly limited: boolean;
  /** Jobs before this sort key are skipped. */
  readonly from?: number;
}

/** A lane with ready jobs that a limit kept from being claimed. */
export interface LimitedLane {
  readonly laneNo: number;
  /** Limit on running jobs, limit on the start rate, or another claimer is at the same limit. */
  readonly by: "running" | "rate" | "busy";
  /** Null: retry when a job under the limit ends. */
  readonly retryInMs: number | null;
}

export interface Claim {
  readonly jobs: readonly ClaimedJob[];
  readonly limitedLanes: readonly LimitedLane[];
}

export interface ClaimedJob extends Lease {
  readonly tenantId: string;
  readonly laneNo: number;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly payload: unknown;
  readonly priority: number;
  readonly runNo: number;
  readonly attemptsSpent: number;
  /** Attempts of this run that timed out. */
  readonly timeouts: number;
  /** Snoozes of this run. */
  readonly snoozes: number;
  /** Leases that this run has lost. */
  readonly reclaims: number;
  readonly maxAttempts: number;
  readonly timeoutSeconds: number | null;
  readonly retryDelaySeconds: number | null;
  readonly retryMultiplier: number | null;
  readonly correlationId: string | null;
  /** Number of jobs before this one in its chain of causes. */
  readonly chainDepth: number;
  readonly claimedAt: Date;
  /**
   * True if the attempt was marked as begun when the job was read: by the claim or, for a remote worker, by a message.
   */
  readonly hasBegun: boolean;
  /** Milliseconds from `claimedAt` to the job's expires_at; null if it has none. */
  readonly expiresInMs: number | null;
  /** The job's number in its worker, if it was given one. */
  readonly claimNo: number | null;
  /** Seconds from `claimedAt` to the end of the lease that the claim gave. */
  readonly leaseSeconds: number;
  readonly sortKey: number;
}

/** Output of an attempt, already redacted, cleaned and cut. */
export interface AttemptOutput {
  readonly pid?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stdoutTail?: string;
  readonly stderrTail?: string;
  readonly stdoutBytes?: number;
  readonly stderrBytes?: number;
  readonly droppedBytes?: number;
  /** Of the command's processes, as far as they were observed. */
  readonly cpuMs?: number;
  readonly peakRssBytes?: number;
}

/** How an attempt ended, as the worker saw it. The policy decides what follows (retry, dead letter). */
export interface AttemptEnd extends Lease {
  readonly tenantId: string;
  readonly status: AttemptStatus;
  /** Set when this ends the job's run. */
  readonly outcome?: TerminalState;
  /** Set when the job goes back to the queue: seconds from now, by the database's clock. */
  readonly retryInSeconds?: number;
  /** True if the attempt counts against max_attempts. */
  readonly spent: boolean;
  /**
   * The job may have harmed its worker, so the end counts as a lost lease. Only for a job that goes back to the queue.
   */
  readonly suspect?: boolean;
  /** When the attempt began, by `performance.now()`, if its own row does not say when. */
  readonly beganAt?: number | undefined;
  readonly errorType?: string;
  readonly errorText?: string;
  readonly result?: unknown;
  readonly output?: AttemptOutput;
  /** Jobs to enqueue in the transaction that records this end; only with an outcome. */
  readonly children?: readonly NewJob[];
}

export interface Refused {
  readonly reason: string;
  /** The tenant is suspended: the same children are accepted later. */
  readonly isLater: boolean;
}

export interface Settled {
  readonly settled: readonly string[];
  /** Leases that are no longer held: their results were dropped. */
  readonly lost: readonly string[];
  /** Ends that the database refuses even without details: their leases run out. */
  readonly unstorable: readonly string[];
  /** Rows that another transaction holds: settle these ends again. */
  readonly locked: readonly string[];
  /** Jobs that were to be retried but had a cancel request, so they ended as canceled. */
  readonly canceled: readonly string[];
  /** Lanes in which dependents of these jobs were released or ended. */
  readonly releasedLanes: readonly number[];
  /** Ends whose children were refused: nothing was written, and the lease is still held. */
  readonly refused: readonly ({ readonly jobId: string } & Refused)[];
}
