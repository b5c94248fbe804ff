import type { AttemptStatus, TerminalState } from "@/lib/queue/states";
import type { DependencyType } from "@/lib/queue/testing";

/** A job that has not ended. All times of the model are milliseconds. */
export interface LiveModel {
  state: "queued" | "blocked" | "paused" | "running";
  ready: boolean;
  scheduledFor: number;
  expiresAt: number | null;
  runNo: number;
  leaseNo: number;
  spent: number;
  reclaims: number;
  worker: string | null;
  claimedAt: number | null;
  startedAt: number | null;
  leaseEndsAt: number | null;
  cancelAt: number | null;
}

export interface AttemptModel {
  readonly attemptNo: number;
  readonly runNo: number;
  readonly status: AttemptStatus;
  readonly worker: string | null;
  readonly claimedAt: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number;
  readonly retryAt: number | null;
  readonly outcome: TerminalState | null;
  readonly attemptCount: number | null;
  superseded: boolean;
}

/** One dependency of a job. */
export interface EdgeModel {
  readonly parentId: string;
  readonly type: DependencyType;
  /** The condition of a conditional edge: about the parent's outcome, or about the number in its result. */
  readonly condition: {
    readonly about: "status" | "n";
    readonly op: "eq" | "gt";
    readonly value: string | number;
  } | null;
  state: "pending" | "met" | "failed";
}

export interface JobModel {
  readonly id: string;
  readonly queuedAt: number;
  priority: number;
  readonly maxAttempts: number;
  readonly key: string | null;
  readonly edges: EdgeModel[];
  /** What happens to the job when a parent does not meet its edge. */
  readonly onParentFailure: "cancel" | "fail" | "run";
  /** As stored: with its placeholders until the results are rendered. */
  payload: unknown;
  /** Replaces a result without a number; null = the job fails. */
  readonly fallback: number | null;
  live: LiveModel | null;
  attempts: AttemptModel[];
  /** The number in the result of its last run; null when there is none. */
  n: number | null;
}

/** The properties of a job when it is accepted. */
export type NewJobModel = Pick<
  JobModel,
  "id" | "priority" | "maxAttempts" | "key" | "edges" | "onParentFailure" | "payload" | "fallback"
>;

/** Limits on concurrent leases and on starts per second; null = unlimited. */
export interface LimitModel {
  readonly running: number | null;
  readonly starts: { readonly perSecond: number; readonly burst: number } | null;
}

export interface KeyModel {
  jobId: string;
  live: boolean;
  heldUntil: number | null;
}

export interface LeaseModel {
  readonly jobId: string;
  readonly leaseNo: number;
}

export interface EndModel {
  readonly status: AttemptStatus;
  readonly spent: boolean;
  readonly outcome?: TerminalState;
  readonly retryInMs?: number;
  /** The number in its result. */
  readonly n?: number | null;
  /** Adds to the count of reclaims. */
  readonly reclaimed?: boolean;
}
