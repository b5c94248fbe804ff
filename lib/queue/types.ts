/** The types of the queue's inputs and results. Client-safe: types only. */

import type { Dependency, OnParentFailure } from "./dependencies/types";
import type { ClassPolicy, RetryClass } from "./error-classes";
import type { Executor, JobSource, JobStatus, RetryStrategy, WaitCode } from "./states";

export type * from "./dependencies/types";
export type * from "./events/types";
export type { FieldProblem } from "./field-problem";
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
  /** The length of the chain of jobs that led to this one; default 0. */
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

/** Why a job that has not ended is not running. */
export interface WaitReason {
  readonly code: WaitCode;
  readonly detail: string;
  readonly until?: string;
}

/** A job as lists show it, without the fields that may be large. */
export interface JobRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly definition_id: string;
  readonly definition_key: string;
  readonly definition_version: number;
  readonly queue: string;
  readonly status: JobStatus;
  readonly source: JobSource;
  readonly source_ref: string | null;
  readonly priority: number;
  readonly tags: readonly string[];
  readonly dedupe_key: string | null;
  readonly correlation_id: string | null;
  readonly parent_job_id: string | null;
  readonly retried_from_id: string | null;
  readonly scheduled_for: string;
  readonly queued_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly expires_at: string | null;
  readonly attempt_count: number;
  readonly max_attempts: number;
  readonly run_no: number;
  readonly timeout_seconds: number;
  readonly lease_expires_at: string | null;
  readonly claimed_by_worker: string | null;
  readonly cancel_requested_at: string | null;
  readonly progress: { readonly percent: number; readonly message: string | null } | null;
  readonly last_error: string | null;
  readonly error_type: string | null;
  readonly created_by: string | null;
  readonly wait_reason: WaitReason | null;
}

/** A job with all its fields. */
export interface Job extends JobRow {
  readonly payload: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: unknown;
  /** The newest job that retried this one with another payload. */
  readonly retried_by_id: string | null;
}

export interface JobFilter {
  readonly status?: readonly JobStatus[];
  readonly source?: readonly JobSource[];
  readonly queue?: string;
  readonly definition_key?: string;
  readonly tag?: string;
  readonly correlation_id?: string;
  readonly parent_job_id?: string;
  /** The job that was retried with another payload. */
  readonly retried_from_id?: string;
  /** Inclusive. */
  readonly created_after?: string;
  /** Exclusive. */
  readonly created_before?: string;
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
  readonly jobs: readonly JobRow[];
  readonly hasMore: boolean;
  /** Exact up to 10,000; beyond that `total` is 10,000 and `totalRelation` is "gte". */
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

export interface JobSummary {
  readonly counts: Readonly<Record<JobStatus, number>>;
  readonly oldest_queued_age_seconds: number | null;
  readonly running_count: number;
  readonly as_of: string;
}

export interface RetryPolicy {
  readonly strategy: RetryStrategy;
  readonly delay_seconds: number;
  readonly multiplier: number;
  readonly max_delay_seconds: number;
  /** Share of the delay by which it may be longer or shorter, 0 to 1. */
  readonly jitter: number;
}

/** The retry settings of one level; null = the next level decides. */
export type RetrySettings = { readonly [K in keyof RetryPolicy]?: RetryPolicy[K] | null | undefined };

/** A definition's settings for classes of errors, which override its general ones. */
export type RetryClasses = {
  readonly [K in RetryClass]?: { readonly [P in keyof ClassPolicy]?: ClassPolicy[P] | undefined } | undefined;
};

export interface Definition {
  readonly id: string;
  readonly key: string;
  readonly description: string;
  readonly executor: Executor;
  readonly command_key: string | null;
  readonly queue: string;
  readonly arg_schema: Readonly<Record<string, unknown>>;
  readonly timeout_seconds: number;
  readonly max_attempts: number;
  readonly lease_seconds: number;
  readonly kill_grace_seconds: number;
  readonly retry: { readonly [K in keyof RetryPolicy]: RetryPolicy[K] | null };
  readonly retry_classes: RetryClasses;
  readonly dead_letter: boolean;
  readonly is_active: boolean;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface DefinitionInput {
  readonly key: string;
  readonly description?: string;
  readonly executor?: Executor;
  readonly command_key?: string;
  readonly queue?: string;
  readonly arg_schema?: Readonly<Record<string, unknown>>;
  /** Null or omitted: the queue's setting, or the installation's. */
  readonly timeout_seconds?: number | null;
  readonly max_attempts?: number | null;
  readonly lease_seconds?: number;
  readonly kill_grace_seconds?: number;
  readonly retry?: RetrySettings;
  /** Replaces the overrides of all classes. */
  readonly retry_classes?: RetryClasses;
  readonly dead_letter?: boolean;
  readonly is_active?: boolean;
}

/** The fields that may change; the key never does. Every change that a job can notice increments `version`. */
export type DefinitionPatch = Omit<DefinitionInput, "key">;
