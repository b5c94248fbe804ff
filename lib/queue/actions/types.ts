/** Types of actions on one job or many. Types only. */
import type { BulkActionName, BulkStatus, JobStatus, TriageStatus } from "../states";
import type { Actor, JobFilter, JobView } from "../types";

/** Changes to a waiting job. */
export interface JobChange {
  /** 1 (first) to 1000. */
  readonly priority?: number;
  readonly scheduledFor?: Date;
}

/** Why an action was not done to a job. */
export type ActionRefusal =
  | "not-found"
  | "state-conflict"
  | "invalid-value"
  | "dedupe-taken"
  | "definition-inactive"
  | "held-by-parent";

/** The result of an action for one job. `status` is the job's status after it; null if there is no such job. */
export interface ActResult {
  readonly jobId: string;
  readonly code: "done" | ActionRefusal;
  readonly status: JobStatus | null;
}

/** The action that a bulk action applies to each job. */
export interface BulkAct {
  readonly action: BulkActionName;
  /** Only for set_priority. */
  readonly priority?: number;
  /** Only for reschedule. */
  readonly scheduledFor?: Date;
}

/** The jobs of a bulk action. */
export type BulkTarget =
  | { readonly jobIds: readonly string[] }
  | { readonly filter: JobFilter }
  | { readonly deadLetters: DeadLetterFilter };

/** A missing field does not filter. */
export interface DeadLetterFilter {
  readonly status?: readonly TriageStatus[];
  readonly definitionKey?: string;
  readonly errorType?: string;
}

/** A job that failed for good, and its triage. */
export interface DeadLetterView {
  readonly job: JobView;
  /** The newest job that was made from this one with another payload. */
  readonly retriedById: string | null;
  readonly status: TriageStatus;
  readonly note: string;
  readonly changedAt: Date | null;
  /** Email of the user who made the last change. */
  readonly changedBy: string | null;
}

export interface DeadLetterChange {
  readonly status?: TriageStatus;
  readonly note?: string;
}

/** One action on a job, from its audit. */
export interface JobEvent {
  readonly at: Date;
  readonly action: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly note: string | null;
  /** The user's email or the key's name, if the tenant may know it. */
  readonly actor: string | null;
  readonly actorKind: Actor["kind"];
}

export interface BulkPreview {
  readonly count: number;
  readonly isExact: boolean;
  /** The newest of these jobs, 20 at most. */
  readonly samples: readonly JobView[];
}

export interface BulkActionView extends BulkAct {
  readonly id: string;
  readonly target: BulkTarget;
  readonly status: BulkStatus;
  /** Why the action stopped by itself: rights-lost, failed-repeatedly. */
  readonly stopReason: string | null;
  readonly total: number;
  readonly totalIsExact: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly actor: { readonly kind: Actor["kind"]; readonly id: string | null; readonly email: string | null };
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly abortRequestedAt: Date | null;
}

export interface BulkResult {
  readonly jobId: string;
  readonly code: ActResult["code"];
  /** Position in the list of results, for the next page. */
  readonly position: BulkPosition;
}

export interface BulkPosition {
  readonly chunkNo: number;
  readonly place: number;
}
