import type { AttemptStatus, TerminalState } from "@/lib/queue/states";

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

/** What a job waits for. */
export interface EdgeModel {
  readonly parentId: string;
  readonly type: "success" | "completion";
  state: "pending" | "met" | "failed";
}

export interface JobModel {
  readonly id: string;
  readonly queuedAt: number;
  priority: number;
  readonly maxAttempts: number;
  readonly key: string | null;
  readonly edges: EdgeModel[];
  /** What becomes of it when a parent does not do what it waits for. */
  readonly onParentFailure: "cancel" | "fail" | "run";
  live: LiveModel | null;
  attempts: AttemptModel[];
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
  /** Adds to the count of reclaims. */
  readonly reclaimed?: boolean;
}
