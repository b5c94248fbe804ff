import type { JobStatus } from "./states";
import type { FieldProblem } from "./types";

export type QueueErrorCode =
  | "definition-unknown"
  | "definition-inactive"
  | "definition-exists"
  | "queue-unknown"
  | "queue-exists"
  | "limit-exists"
  | "payload-invalid"
  | "payload-too-large"
  | "schema-invalid"
  | "invalid-value"
  | "tenant-suspended"
  | "not-found"
  | "state-conflict"
  | "dedupe-taken"
  | "executor-barred"
  | "job-events-barred"
  | "action-over"
  | "too-many-actions"
  | "too-many-triggers"
  | "version-conflict"
  | "artifact-quota"
  | "artifact-gone";

interface QueueErrorDetail {
  readonly problems?: readonly FieldProblem[];
  /** The job's current status, for a state-conflict. */
  readonly current?: JobStatus;
}

/** A refusal by the queue that the caller can act on. Messages contain no values of payloads. */
export class QueueError extends Error {
  override readonly name = "QueueError";
  readonly problems: readonly FieldProblem[];
  readonly current: JobStatus | undefined;

  constructor(
    readonly code: QueueErrorCode,
    message: string,
    detail: QueueErrorDetail = {},
  ) {
    super(message);
    this.problems = detail.problems ?? [];
    this.current = detail.current;
  }
}

/** The holder's lease has expired or was rescued, so the caller must drop everything it was about to write. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";

  constructor() {
    super("The lease of this job is lost.");
  }
}

/** Another scheduler leads, so the caller must drop everything it was about to write. */
export class TermLostError extends Error {
  override readonly name = "TermLostError";

  constructor() {
    super("Another scheduler leads.");
  }
}

export const jobNotFound = (): QueueError => new QueueError("not-found", "Job not found.");
export const bulkActionNotFound = (): QueueError => new QueueError("not-found", "Action not found.");
