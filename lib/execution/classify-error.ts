import path from "node:path";
import { pathToFileURL } from "node:url";
import { cutCharacters } from "@/lib/text/cut-characters";
import { stoppedOutcome } from "./command/outcome";
import { AttemptLostError, AttemptStoppedError, JobError, ReleasedError, SnoozedError } from "./errors";
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
const SUSPENDED = "tenant-suspended";
const RESOURCES = ["ENOSPC", "EMFILE", "ENFILE", "ENOMEM", "EBUSY", "EAGAIN", "EIO"];

/** Returns the outcome of an attempt whose handler threw `error`. Tenants see the stack of their own handlers only. */
export function outcomeOfError(
  error: unknown,
  secrets: SecretForms,
  { isShipped = false }: { readonly isShipped?: boolean } = {},
): Outcome {
  if (error instanceof AttemptLostError) return stoppedOutcome("lease-lost", "");
  if (error instanceof SnoozedError) return snoozed(error, secrets);
  if (isReleased(error)) return { kind: "released", reason: cleanMessage(messageOf(error), secrets) };
  if (isLostConnection(error)) return { kind: "released", reason: "The connection to PostgreSQL was lost." };
  const known = describe(error);
  const stack = isShipped ? null : ownFrames(faultStack(error));
  return {
    kind: "failed",
    ...known,
    message: cleanMessage(known.message, secrets),
    // The stack repeats the message, so it is redacted too.
    ...(stack ? { stack: cleanMessage(stack, secrets) } : {}),
  };
}

/**
 * Classes whose message alone may not explain the failure; the other classes name a fault of the input or the
 * environment.
 */
const UNEXPLAINED: ReadonlySet<ErrorClass> = new Set(["internal", "unknown", "database"]);
const MOST_CAUSES = 4;
const MOST_HEAD_CHARS = 1000;
const MOST_FRAMES = 50;
const CAUSED_BY = "\nCaused by: ";

/**
 * Returns the stack of an unexpected error with its causes, at most 50 frames each. Null if the message explains the
 * error: one that a handler threw on purpose, or a fault of the input or the environment.
 */
export function faultStack(error: unknown): string | null {
  if (!(error instanceof Error) || isReleased(error) || !UNEXPLAINED.has(describe(error).errorType)) return null;
  if (error instanceof JobError) return originOf(error);
  const parts: string[] = [];
  for (let next: unknown = error; next instanceof Error && parts.length <= MOST_CAUSES; next = next.cause) {
    parts.push(boundedStack(next));
  }
  return parts.join(CAUSED_BY);
}

function boundedStack({ name, message, stack }: Error): string {
  const lines = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return [cutCharacters(`${name}: ${message}`, MOST_HEAD_CHARS), ...lines.slice(0, MOST_FRAMES)].join("\n");
}

const ORIGIN = Symbol("the stack of an unexpected error of another thread");

/** Gives an error the stack that it had in another thread, where its class was lost. */
export function withOrigin<E extends Error>(error: E, stack: string | null): E {
  return stack === null ? error : Object.assign(error, { [ORIGIN]: stack });
}

const originOf = (error: Error & { readonly [ORIGIN]?: string }): string | null => error[ORIGIN] ?? null;

/** Returns the file in a line of a stack, or null. */
function fileOf(line: string): string | null {
  const position = /^\s*at /.test(line) ? /:\d{1,9}:\d{1,9}\)?$/.exec(line.slice(-24))?.[0] : undefined;
  if (position === undefined) return null;
  const before = line.slice(0, -position.length);
  const start = Math.max(...["(", ")", " ", "\t"].map((mark) => before.lastIndexOf(mark)));
  return before.slice(start + 1);
}

/** Returns the failing lines of the tenant's own handlers; frames of the worker mean nothing to a tenant. */
function ownFrames(stack: string | null): string | null {
  const lines = withoutRoot((stack ?? "").split(CAUSED_BY, 1)[0] ?? "").split("\n");
  const frames = lines.filter((line) => fileOf(line)?.startsWith("jobs/"));
  return frames.length === 0 ? null : [lines[0], ...frames].join("\n");
}

/**
 * Removes the installation's path: tenants may see the failing line, but not where the installation lies on the server.
 */
function withoutRoot(stack: string): string {
  const root = `${process.cwd()}${path.sep}`;
  return stack.replaceAll(pathToFileURL(root).href, "").replaceAll(root, "");
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
  // A mistake in the handler's code; another attempt may still get other data.
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError) return "internal";
  return "unknown";
}

// A suspended tenant accepts no jobs and events. A job that already runs needs them later, so it is released. Compared
// by name, because this folder knows no queue operations.
function isReleased(error: unknown): boolean {
  if (error instanceof ReleasedError) return true;
  return error instanceof Error && error.name === "QueueError" && (error as { code?: unknown }).code === SUSPENDED;
}

// True for Leasehold's own database, whose outage spends no attempt. A handler's other databases throw other errors.
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "DatabaseError") return false;
  const { kind, connectionLost } = error as { kind?: unknown; connectionLost?: unknown };
  return kind === "unavailable" && connectionLost === true;
}

// The same statement with the same values fails again.
function isBadInput(error: Error): boolean {
  const { kind } = error as { kind?: unknown };
  return kind === "invalid" || kind === "forbidden";
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return typeof error === "string" && error !== "" ? error : "the handler threw something that is no error";
}
