/** The shapes of acts on jobs, on one and on many: types only. */
import type { BulkActionName, BulkStatus, JobStatus, TriageStatus } from "../states";
import type { Actor, JobFilter, JobView } from "../types";

/** What may be changed about a job that waits. */
export interface JobChange {
  /** 1 (first) to 1000. */
  readonly priority?: number;
  readonly scheduledFor?: Date;
}

/** Why an act was not done to a job. */
export type Refusal =
  | "not-found"
  | "state-conflict"
  | "invalid-value"
  | "dedupe-taken"
  | "definition-inactive"
  | "held-by-parent";

/** What became of one job of an act; `status` is where the job stands after it, null when it is not there. */
export interface ActResult {
  readonly jobId: string;
  readonly code: "done" | Refusal;
  readonly status: JobStatus | null;
}

/** What is done to each job of a bulk action. */
export interface BulkAct {
  readonly action: BulkActionName;
  /** Only for set_priority. */
  readonly priority?: number;
  /** Only for reschedule. */
  readonly scheduledFor?: Date;
}

/** Which jobs a bulk action is for. */
export type BulkTarget =
  | { readonly jobIds: readonly string[] }
  | { readonly filter: JobFilter }
  | { readonly deadLetters: DeadLetterFilter };

/** What is left out does not narrow. */
export interface DeadLetterFilter {
  readonly status?: readonly TriageStatus[];
  readonly definitionKey?: string;
  readonly errorType?: string;
}

/** A job that failed for good, and what people made of it. */
export interface DeadLetterView {
  readonly job: JobView;
  /** The newest job made of it with another payload. */
  readonly retriedById: string | null;
  readonly status: TriageStatus;
  readonly note: string;
  readonly changedAt: Date | null;
  /** The email of whoever changed it last. */
  readonly changedBy: string | null;
}

export interface DeadLetterChange {
  readonly status?: TriageStatus;
  readonly note?: string;
}

/** One act on a job, from its audit. */
export interface JobEvent {
  readonly at: Date;
  readonly action: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly note: string | null;
  /** A person's email or a key's name, as far as the tenant may know it. */
  readonly actor: string | null;
  readonly actorKind: Actor["kind"];
}

export interface BulkPreview {
  readonly count: number;
  readonly isExact: boolean;
  /** The newest of them, 20 at most. */
  readonly samples: readonly JobView[];
}

export interface BulkActionView extends BulkAct {
  readonly id: string;
  readonly target: BulkTarget;
  readonly status: BulkStatus;
  /** Why it stopped by itself: rights-lost, failed-repeatedly. */
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
  /** Where it stands in the list of results, for the next page. */
  readonly position: BulkPosition;
}

export interface BulkPosition {
  readonly chunkNo: number;
  readonly place: number;
}
