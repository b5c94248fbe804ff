/** Types of actions on one job or many. Types only. */
import type { BulkActionName, BulkStatus, JobStatus, TriageStatus } from "../states";
import type { Actor, JobFilter, JobRow } from "../types";

/** Changes to a waiting job. */
export interface JobChange {
  /** 1 (first) to 1000. */
  readonly priority?: number;
  readonly scheduled_for?: string;
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
export interface ActionResult {
  readonly jobId: string;
  readonly code: "done" | ActionRefusal;
  readonly status: JobStatus | null;
}

/** The action that a bulk action applies to each job. */
export interface ChosenAction {
  readonly action: BulkActionName;
  /** Only for set_priority. */
  readonly priority?: number;
  /** Only for reschedule. */
  readonly scheduled_for?: string;
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
export interface DeadLetter {
  /** The id of the job. */
  readonly id: string;
  readonly job: JobRow;
  /** The newest job that was made from this one with another payload. */
  readonly retried_by_id: string | null;
  readonly status: TriageStatus;
  readonly note: string;
  readonly changed_at: string | null;
  /** Email of the user who made the last change. */
  readonly changed_by: string | null;
}

export interface DeadLetterChange {
  readonly status?: TriageStatus;
  readonly note?: string;
}

/** One action on a job, from its audit. */
export interface JobEvent {
  readonly at: string;
  readonly action: string;
  readonly from_status: string | null;
  readonly to_status: string | null;
  readonly note: string | null;
  /** The user's email or the key's name, if the tenant may know it. */
  readonly actor: string | null;
  readonly actor_kind: Actor["kind"];
}

/** The jobs for which a bulk action would be legal. */
export interface JobActionPreview {
  readonly dry_run: true;
  readonly action: BulkActionName;
  readonly count: number;
  /** gte: more than counted. */
  readonly count_relation: "eq" | "gte";
  /** The newest of these jobs, 20 at most. */
  readonly samples: readonly JobRow[];
}

/** An action on many jobs. `done`, `skipped` and `failed` add up to the jobs processed so far. */
export interface JobAction {
  readonly id: string;
  readonly action: BulkActionName;
  readonly priority: number | null;
  readonly scheduled_for: string | null;
  /** The filter, with the statuses that the action applies to; null when the jobs were listed by id. */
  readonly filter: unknown;
  readonly status: BulkStatus;
  /** Why the action stopped by itself: rights-lost, failed-repeatedly. */
  readonly stop_reason: string | null;
  readonly total: number;
  readonly total_relation: "eq" | "gte";
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly created_by: { readonly kind: Actor["kind"]; readonly email: string | null };
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly abort_requested_at: string | null;
}

export interface BulkResult {
  readonly jobId: string;
  readonly code: ActionResult["code"];
  /** Position in the list of results, for the next page. */
  readonly position: BulkPosition;
}

export interface BulkPosition {
  readonly chunkNo: number;
  readonly place: number;
}
