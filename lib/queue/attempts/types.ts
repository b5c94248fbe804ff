/** Shapes that only workers and schedulers use. */
import type { PayloadValidator } from "../definitions/arg-schema.policy";
import type { AttemptStatus, TerminalState } from "../states";
import type { Executor, LogLevel, LogStream, NewJob, RetryClasses, RetrySettings } from "../types";

/** One version of a definition, as an attempt runs under it. */
export interface RunnableDefinition {
  readonly definitionId: string;
  readonly version: number;
  readonly key: string;
  readonly executor: Executor;
  readonly commandKey: string | null;
  /** Checks a payload against its schema. */
  readonly validate: PayloadValidator;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly killGraceSeconds: number;
  readonly retry: RetrySettings;
  readonly retryClasses: RetryClasses;
  readonly deadLetter: boolean;
}

/** What is active just now, so that a worker can say what of it it serves. */
export interface Servable {
  readonly queues: readonly { readonly id: number; readonly name: string }[];
  readonly definitions: readonly {
    readonly id: string;
    readonly key: string;
    readonly executor: Executor;
    readonly commandKey: string | null;
    readonly leaseSeconds: number;
    /** The one that jobs are accepted with now. */
    readonly version: number;
  }[];
}

export interface LogChunk {
  /** Rises by one within an attempt; the same number is stored once. */
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
  /** Version of its time-zone data, such as "2025b"; none = unknown. */
  readonly tzVersion?: string | null;
}

export interface WorkerSample {
  readonly runningCount: number;
  readonly cpuPercent: number;
  readonly rssBytes: number;
  readonly eventLoopLagMs: number;
}

/** Proof of ownership: every write of a worker names both. */
export interface Lease {
  readonly jobId: string;
  readonly leaseNo: number;
}

export interface LaneRequest {
  readonly laneNo: number;
  readonly limit: number;
  readonly leaseSeconds: number;
  /** It has limits, as the poll says; a wrong answer gives no jobs, and never too many. */
  readonly limited: boolean;
  /** Jobs before this sort key are not looked at. */
  readonly from?: number;
}

/** A lane with ready jobs that a limit kept from being claimed. */
export interface LimitedLane {
  readonly laneNo: number;
  /** Too many running; too many started; or another claimer is at the same limit. */
  readonly by: "running" | "rate" | "busy";
  /** Null: when a job under the limit ends. */
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
  /** Attempts of this run that ended at their time limit. */
  readonly timeouts: number;
  /** How often this run was put off. */
  readonly snoozes: number;
  /** How many leases this run has lost. */
  readonly reclaims: number;
  readonly maxAttempts: number;
  readonly timeoutSeconds: number | null;
  readonly retryDelaySeconds: number | null;
  readonly retryMultiplier: number | null;
  readonly correlationId: string | null;
  /** How many jobs that caused each other lie before this one. */
  readonly chainDepth: number;
  readonly claimedAt: Date;
  /** Whether the attempt is marked as started already. */
  readonly started: boolean;
  /** Milliseconds from `claimedAt` to the job's expires_at; null = it has none. */
  readonly expiresInMs: number | null;
  /** Its number in its worker, if it was given one. */
  readonly claimNo: number | null;
  /** From `claimedAt` to the end of the lease that the claim gave. */
  readonly leaseSeconds: number;
  readonly sortKey: number;
}

/** What an attempt printed, already redacted, cleaned and cut. */
export interface AttemptOutput {
  readonly pid?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stdoutTail?: string;
  readonly stderrTail?: string;
  readonly stdoutBytes?: number;
  readonly stderrBytes?: number;
  readonly droppedBytes?: number;
  /** Of the command's processes, as far as they were seen. */
  readonly cpuMs?: number;
  readonly peakRssBytes?: number;
}

/** How an attempt ended, as the worker saw it; what follows (retry, dead letter) is decided by the policy. */
export interface AttemptEnd extends Lease {
  readonly tenantId: string;
  readonly status: AttemptStatus;
  /** Set when this ends the job's run. */
  readonly outcome?: TerminalState;
  /** Set when the job goes back to the queue: seconds from now, by the database's clock. */
  readonly retryInSeconds?: number;
  /** Whether the attempt counts against max_attempts. */
  readonly spent: boolean;
  /** The job may be what harmed its worker: the end counts as a lost lease. Only of a job that goes back to the queue. */
  readonly suspect?: boolean;
  /** When the attempt began, by `performance.now()`, for one whose own row does not say it. */
  readonly beganAt?: number | undefined;
  readonly errorType?: string;
  readonly errorText?: string;
  readonly result?: unknown;
  readonly output?: AttemptOutput;
  /** Jobs that are enqueued in the transaction that records this end; only with an outcome. */
  readonly children?: readonly NewJob[];
}

export interface Refused {
  readonly reason: string;
  /** The tenant is suspended: the same children are accepted later. */
  readonly isLater: boolean;
}

export interface Settled {
  readonly settled: readonly string[];
  /** Leases that are not held any more: their results were dropped. */
  readonly lost: readonly string[];
  /** Ends that the database will not store, not even bare: their leases run out. */
  readonly unstorable: readonly string[];
  /** Rows that another transaction holds: settle them again. */
  readonly locked: readonly string[];
  /** Jobs that were to be retried but had a cancel request: they ended as canceled. */
  readonly canceled: readonly string[];
  /** Lanes in which jobs that waited for these were released or ended. */
  readonly releasedLanes: readonly number[];
  /** Ends whose children were refused: nothing was written, the lease is still held. */
  readonly refused: readonly ({ readonly jobId: string } & Refused)[];
}
