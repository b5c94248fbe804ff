import { AmbiguousCredentials } from "@/lib/auth/principal";
import type { ProblemCode, ProblemError } from "@/lib/contract";
import type { DatabaseError } from "@/lib/db";
import type { QueueError } from "@/lib/queue";
import { HttpProblem, notFound } from "./problem";

const RETRY_SOON = { "retry-after": "2" };
const RETRY_LATER = { "retry-after": "10" };

/** Maps an error thrown by a route to its answer. Returns null for an internal error (500). */
export function toHttpProblem(error: unknown): HttpProblem | null {
  if (error instanceof HttpProblem) return error;
  if (error instanceof AmbiguousCredentials) return new HttpProblem("ambiguous-credentials");
  if (isNamed<QueueError>(error, "QueueError")) return fromQueue(error);
  if (isNamed<DatabaseError>(error, "DatabaseError")) return fromDatabase(error);
  return null;
}

// Matched by name and not by class, because the front and the pages are bundled and reloaded separately, so one class
// may exist twice.
function isNamed<T extends Error>(error: unknown, name: string): error is T {
  return error instanceof Error && error.name === name;
}

const QUEUE_PROBLEMS: Readonly<Record<QueueError["code"], ProblemCode>> = {
  "definition-unknown": "definition-unknown",
  "definition-inactive": "definition-inactive",
  "definition-exists": "definition-exists",
  "queue-unknown": "queue-unknown",
  "queue-exists": "queue-exists",
  "limit-exists": "limit-exists",
  "payload-invalid": "payload-invalid",
  "payload-too-large": "payload-too-large",
  "schema-invalid": "arg-schema-invalid",
  "invalid-value": "validation-failed",
  "tenant-suspended": "tenant-suspended",
  "not-found": "not-found",
  "state-conflict": "state-conflict",
  "dedupe-taken": "dedupe-taken",
  "executor-barred": "forbidden",
  "job-events-barred": "forbidden",
  "action-over": "action-over",
  "too-many-actions": "too-many-actions",
  "too-many-triggers": "too-many-triggers",
  "version-conflict": "precondition-failed",
  "artifact-quota": "artifact-quota",
  "artifact-gone": "artifact-gone",
};

function fromQueue(error: QueueError): HttpProblem {
  if (error.code === "not-found") return notFound();
  // A schema is validated on its own, so its pointers are relative to it; the prefix is its position in the body.
  const at = error.code === "schema-invalid" ? "/arg_schema" : "";
  const errors = error.problems.map(
    ({ pointer, code, detail }): ProblemError => ({ pointer: at + pointer, code, detail }),
  );
  return new HttpProblem(QUEUE_PROBLEMS[error.code] ?? "bad-request", {
    detail: error.message,
    ...(errors.length > 0 ? { errors } : {}),
    ...(error.current ? { currentStatus: error.current } : {}),
    ...(error.code === "too-many-actions" ? { headers: RETRY_LATER } : {}),
  });
}

function fromDatabase(error: DatabaseError): HttpProblem | null {
  switch (error.kind) {
    case "unavailable":
    case "timeout":
    case "retryable":
      return new HttpProblem("unavailable", {
        detail: "The database does not answer. Try again; a POST with the same Idempotency-Key is safe to repeat.",
        headers: RETRY_SOON,
      });
    case "conflict":
      return new HttpProblem("conflict");
    case "invalid":
      return new HttpProblem("bad-request", { detail: "A value is out of the range that can be stored." });
    case "forbidden":
      return new HttpProblem("forbidden");
    default:
      return null;
  }
}
