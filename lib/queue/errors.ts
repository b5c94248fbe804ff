import type { JobStatus } from "./states";
import type { Problem } from "./types";

export type QueueErrorCode =
  | "definition-unknown"
  | "definition-inactive"
  | "definition-exists"
  | "queue-unknown"
  | "payload-invalid"
  | "payload-too-large"
  | "schema-invalid"
  | "value-invalid"
  | "tenant-unavailable"
  | "not-found"
  | "state-conflict"
  | "dedupe-taken";

/** A refusal by the queue that the caller can act on. Messages hold no values of payloads. */
export class QueueError extends Error {
  override readonly name = "QueueError";

  constructor(
    readonly code: QueueErrorCode,
    message: string,
    readonly detail: { readonly problems?: readonly Problem[]; readonly current?: JobStatus } = {},
  ) {
    super(message);
  }
}

export const notFound = (): QueueError => new QueueError("not-found", "There is no such job.");

export const valueInvalid = (pointer: string, detail: string): QueueError =>
  new QueueError("value-invalid", detail, { problems: [{ pointer, code: "invalid", detail }] });
