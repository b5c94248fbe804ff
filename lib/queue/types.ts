/** The types of the queue's inputs and results. Client-safe: types only. */

import type { Dependency, OnParentFailure } from "./dependencies/types";
import type { ClassPolicy, RetryClass } from "./error-classes";
import type { Executor, JobSource, JobStatus, RetryStrategy } from "./states";

export type * from "./dependencies/types";
export type * from "./events/types";
export type * from "./queues/types";
export type * from "./read/types";
export type * from "./schedules/types";
export type { Executor, JobSource, RetryStrategy } from "./states";
export type * from "./triggers/types";

/** The actor of a request. `userId` is the person behind an API key, if there is one. */
export interface Actor {
  readonly kind: "user" | "api_key" | "system";
  readonly id: string | null;
  readonly userId: string | null;
  readonly requestId?: string;
}

/** The tenant that an action or a read is confined to, and its actor. */
export interface TenantScope {
  readonly tenantId: string;
  readonly actor: Actor;
  /** Executors whose jobs the actor may not start, and for which the actor may not save triggers. */
  readonly barredExecutors?: readonly Executor[];
  /** True if the actor may not save triggers on `job.*` events, because conditions read what jobs returned. */
  readonly barredFromJobEvents?: boolean;
}

/** One problem of an input; `pointer` is a JSON pointer (RFC 6901) into it. Never contains the value. */
export interface FieldProblem {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

export type DedupeMode = "live" | "window" | "retained";
export type DedupeAction = "return" | "replace_payload" | "reschedule";
/**
 * `returned`: the holder was not changed, because nothing else was requested, or because it runs, has ended or has
 * another definition.
 */
export type DedupeConflict = "returned" | "replaced" | "rescheduled";

/** A request to enqueue a job. Omitted fields come from the definition, then from the queue's defaults. */
export interface NewJob {
  readonly definitionKey: string;
  readonly payload?: unknown;
  readonly queue?: string;
  /** 1 (first) to 1000; default 100. */
  readonly priority?: number;
  readonly scheduledFor?: Date;
  readonly expiresAt?: Date;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly correlationId?: string;
  readonly parentJobId?: string;
  readonly retriedFromId?: string;
  readonly source?: JobSource;
  readonly sourceRef?: string;
  /** The number of jobs that caused each other before this one; default 0. */
  readonly chainDepth?: number;
  readonly maxAttempts?: number;
  readonly timeoutSeconds?: number;
  readonly retryDelaySeconds?: number;
  readonly retryMultiplier?: number;
  readonly dedupeKey?: string;
  readonly dedupe?: {
    readonly mode: DedupeMode;
    readonly windowSeconds?: number;
    /** What a taken key does to the job that holds it, as long as that job waits; default return. */
    readonly onConflict?: DedupeAction;
  };
  /** The name of this job among those that are enqueued with it. */
  readonly ref?: string;
  readonly dependsOn?: readonly Dependency[];
  /** What happens to the job if a parent does not end as required; default cancel. */
  readonly onParentFailure?: OnParentFailure;
}

/** The result of enqueueing a NewJob. A duplicate has the id of the job that holds the key; no job was inserted. */
export interface Enqueued {
  readonly jobId: string;
  readonly tenantId: string;
  readonly definitionKey: string;
  readonly status: JobStatus;
  readonly deduplicated: boolean;
  /** What happened to the job that holds the key; null if a job was inserted. */
  readonly conflict: DedupeConflict | null;
  readonly queuedAt: Date;
  readonly scheduledFor: Date;
}

export type WaitCode =
  | "scheduled"
  | "retry_backoff"
  | "blocked"
  | "paused"
  | "suspended"
  | "no_worker"
  | "at_limit"
  | "rate_limited"
  | "position";

/** Why a job that has not ended is not running. */
export interface WaitReason {
  readonly code: WaitCode;
  readonly detail: string;
  readonly until?: Date;
}

export interface JobView {
  readonly id: string;
  readonly tenantId: string;
  readonly definitionId: string;
  readonly definitionKey: string;
  readonly definitionVersion: number;
  readonly queue: string;
  readonly status: JobStatus;
  readonly source: JobSource;
  readonly sourceRef: string | null;
  readonly priority: number;
  /** Omitted (undefined) in lists. */
  readonly payload?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly tags: readonly string[];
  readonly dedupeKey: string | null;
  readonly correlationId: string | null;
  readonly parentJobId: string | null;
  readonly retriedFromId: string | null;
  /** The newest job that retried this one with another payload. Omitted (undefined) in lists. */
  readonly retriedById?: string | null;
  readonly scheduledFor: Date;
  readonly queuedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly attemptCount: number;
  readonly maxAttempts: number;
  readonly runNo: number;
  readonly timeoutSeconds: number;
  readonly leaseExpiresAt: Date | null;
  readonly claimedByWorker: string | null;
  readonly cancelRequestedAt: Date | null;
  readonly progress: { readonly percent: number; readonly message: string | null } | null;
  readonly lastError: string | null;
  readonly errorType: string | null;
  readonly createdBy: string | null;
  readonly waitReason: WaitReason | null;
}

export interface JobFilter {
  readonly status?: readonly JobStatus[];
  readonly source?: readonly JobSource[];
  readonly queue?: string;
  readonly definitionKey?: string;
  readonly tag?: string;
  readonly correlationId?: string;
  readonly parentJobId?: string;
  /** The job that was retried with another payload. */
  readonly retriedFromId?: string;
  /** Inclusive. */
  readonly createdAfter?: Date;
  /** Exclusive. */
  readonly createdBefore?: Date;
  /** A job id, or the beginning of a definition key. */
  readonly q?: string;
}

/** Either a keyset position (the last id that was read) or an offset, never both. */
export interface Page {
  readonly limit: number;
  readonly offset?: number;
  readonly afterId?: string;
}

export interface JobPage {
  readonly jobs: readonly JobView[];
  readonly hasMore: boolean;
  /** Exact up to 10,000; beyond that `total` is 10,000 and `totalRelation` is "gte". */
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

export interface JobSummary {
  readonly counts: Readonly<Record<JobStatus, number>>;
  readonly oldestQueuedAgeSeconds: number | null;
  readonly runningCount: number;
  readonly asOf: Date;
}

export interface RetryPolicy {
  readonly strategy: RetryStrategy;
  readonly delaySeconds: number;
  readonly multiplier: number;
  readonly maxDelaySeconds: number;
  /** Share of the delay by which it may be longer or shorter, 0 to 1. */
  readonly jitter: number;
}

/** The retry settings of one level; null = the next level decides. */
export type RetrySettings = { readonly [K in keyof RetryPolicy]?: RetryPolicy[K] | null | undefined };

/** A definition's settings for classes of errors, which override its general ones. */
export type RetryClasses = { readonly [K in RetryClass]?: Partial<ClassPolicy> };

export interface DefinitionView {
  readonly id: string;
  readonly key: string;
  readonly description: string;
  readonly executor: Executor;
  readonly commandKey: string | null;
  readonly queue: string;
  readonly argSchema: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number;
  readonly maxAttempts: number;
  readonly leaseSeconds: number;
  readonly killGraceSeconds: number;
  readonly retry: RetrySettings;
  readonly retryClasses: RetryClasses;
  readonly deadLetter: boolean;
  readonly isActive: boolean;
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface DefinitionInput {
  readonly key: string;
  readonly description?: string;
  readonly executor?: Executor;
  readonly commandKey?: string;
  readonly queue?: string;
  readonly argSchema?: Readonly<Record<string, unknown>>;
  /** Null or omitted: the queue's setting, or the installation's. */
  readonly timeoutSeconds?: number | null;
  readonly maxAttempts?: number | null;
  readonly leaseSeconds?: number;
  readonly killGraceSeconds?: number;
  readonly retry?: RetrySettings;
  /** Replaces the overrides of all classes. */
  readonly retryClasses?: RetryClasses;
  readonly deadLetter?: boolean;
  readonly isActive?: boolean;
}

/** The fields that may change; the key never does. Every change that a job can notice increments `version`. */
export type DefinitionPatch = Omit<DefinitionInput, "key">;
