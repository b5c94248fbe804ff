/** Types of actions on one job or many. Types only. */
import type { BulkActionName, BulkStatus, JobStatus, TriageStatus } from "../states";
import type { Actor, JobFilter, JobView } from "../types";

/** Changes to a waiting job. */
export interface JobChange {
  /** 1 (first) to 1000. */
  readonly priority?: number;
  readonly scheduled_for?: Date;
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
  readonly scheduled_for?: Date;
}

/** The jobs of a bulk action. */
export type BulkTarget =
  | { readonly job_ids: readonly string[] }
  | { readonly filter: JobFilter }
  | { readonly dead_letters: DeadLetterFilter };

/** A missing field does not filter. */
export interface DeadLetterFilter {
  readonly status?: readonly TriageStatus[];
  readonly definition_key?: string;
  readonly error_type?: string;
}

/** A job that failed for good, and its triage. */
export interface DeadLetterView {
  readonly job: JobView;
  /** The newest job that was made from this one with another payload. */
  readonly retried_by_id: string | null;
  readonly status: TriageStatus;
  readonly note: string;
  readonly changed_at: Date | null;
  /** Email of the user who made the last change. */
  readonly changed_by: string | null;
}

export interface DeadLetterChange {
  readonly status?: TriageStatus;
  readonly note?: string;
}

/** One action on a job, from its audit. */
export interface JobEvent {
  readonly at: Date;
  readonly action: string;
  readonly from_status: string | null;
  readonly to_status: string | null;
  readonly note: string | null;
  /** The user's email or the key's name, if the tenant may know it. */
  readonly actor: string | null;
  readonly actor_kind: Actor["kind"];
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
  readonly stop_reason: string | null;
  readonly total: number;
  readonly total_is_exact: boolean;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly actor: { readonly kind: Actor["kind"]; readonly id: string | null; readonly email: string | null };
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly abort_requested_at: Date | null;
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
