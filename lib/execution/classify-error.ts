import path from "node:path";
import { stoppedOutcome } from "./command/outcome";
import { AttemptStoppedError, JobError, LeaseLostError, SnoozedError } from "./errors";
import { cleanMessage } from "./output/clean-result";
import type { SecretForms } from "./output/secret-forms";
import type { ErrorClass, Failure, Outcome } from "./types";

const NETWORK = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_SOCKET",
];
const RESOURCES = ["ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EBUSY", "EAGAIN", "EIO"];

/** What an error that a handler threw means for the attempt. */
export function outcomeOfError(error: unknown, secrets: SecretForms): Outcome {
  if (error instanceof LeaseLostError) return stoppedOutcome("lease-lost", "");
  if (error instanceof SnoozedError) return snoozed(error, secrets);
  if (isLostConnection(error)) return { kind: "released", reason: "The connection to PostgreSQL was lost." };
  const known = describe(error);
  const stack = UNEXPLAINED.has(known.errorType) ? ownFrames(error) : null;
  return {
    kind: "failed",
    ...known,
    message: cleanMessage(known.message, secrets),
    // The stack repeats the message, so it is redacted too.
    ...(stack ? { stack: cleanMessage(stack, secrets) } : {}),
  };
}

/** Classes whose message alone may not say what is wrong; the others name a fault of the input or of the world. */
const UNEXPLAINED: ReadonlySet<ErrorClass> = new Set(["internal", "unknown", "database"]);

const FRAME = /^\s*at .*?\(?(?:file:\/\/)?([^()\s]+):\d+:\d+\)?$/;
const FOREIGN = /^(?:node:|lib\/|node_modules\/|\.|scripts\/|app\/)/;

/**
 * Which lines of the handlers failed. An error that a handler made on purpose says by its message what is wrong, so it
 * has none; frames of the worker itself mean nothing to a tenant.
 */
function ownFrames(error: unknown): string | null {
  // A CommandFailedError and the like are JobErrors; from another thread they come with the frames that are left.
  if (!(error instanceof Error) || (error instanceof JobError && !isUnexpected(error))) return null;
  const lines = withoutRoot(error.stack ?? "").split("\n");
  const frames = lines.filter((line) => !FOREIGN.test(FRAME.exec(line)?.[1] ?? "node:"));
  return frames.length === 0 ? null : [lines[0], ...frames].join("\n");
}

// An error of a thread that was no JobError there: `fromWire` gives it the frames of its origin.
const isUnexpected = (error: JobError): boolean => Object.hasOwn(error, "isFromThread");

/** A tenant may know which line of a handler failed, and not where on the server the installation lies. */
function withoutRoot(stack: string): string {
  const root = `${process.cwd()}${path.sep}`;
  return stack.replaceAll(`file://${root}`, "").replaceAll(root, "");
}

function snoozed({ seconds, reason }: SnoozedError, secrets: SecretForms): Outcome {
  return { kind: "snoozed", seconds, ...(reason === undefined ? {} : { reason: cleanMessage(reason, secrets) }) };
}

function describe(error: unknown): Omit<Failure, "kind" | "stack"> {
  if (error instanceof JobError) {
    const { errorType, message, retryable, retryAfterSeconds } = error;
    return {
      errorType,
      message,
      ...(retryable === undefined ? {} : { retryable }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
  }
  const errorType = classOf(error);
  const isPermanent = error instanceof Error && error.name === "DatabaseError" && isBadInput(error);
  return { errorType, message: messageOf(error), ...(isPermanent ? { retryable: false } : {}) };
}

function classOf(error: unknown): ErrorClass {
  if (!(error instanceof Error)) return "unknown";
  if (error.name === "DatabaseError") return "database";
  if (error instanceof AttemptStoppedError) return "internal";
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (NETWORK.includes(code)) return "transient_network";
  if (RESOURCES.includes(code)) return "temporary_resource";
  if (code === "ENOENT") return "not_found";
  if (code === "EACCES" || code === "EPERM") return "permission";
  // A mistake in the handler rather than in the world; another attempt may still meet other data.
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) return "internal";
  return "unknown";
}

// True for Leasehold's own database, whose outage spends no attempt. A handler's other databases throw other errors.
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "DatabaseError") return false;
  const { kind, connectionLost } = error as { kind?: unknown; connectionLost?: unknown };
  return kind === "unavailable" && connectionLost === true;
}

// The same statement with the same values fails the same way again.
function isBadInput(error: Error): boolean {
  const { kind } = error as { kind?: unknown };
  return kind === "invalid" || kind === "forbidden";
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return typeof error === "string" && error !== "" ? error : "the handler threw something that is no error";
}
