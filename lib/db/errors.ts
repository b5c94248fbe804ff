/** What a failed statement means to its caller. */
export type DatabaseErrorKind =
  | "unavailable"
  | "conflict"
  | "invalid"
  | "forbidden"
  | "retryable"
  | "timeout"
  | "other";

interface DatabaseErrorInit {
  readonly kind: DatabaseErrorKind;
  readonly sqlState?: string | undefined;
  readonly constraint?: string | undefined;
  readonly undone?: boolean;
  readonly connectionLost?: boolean;
  readonly serverMessage?: string | undefined;
}

/**
 * The class of every error that leaves lib/db. The message names kind, SQLSTATE and constraint, never SQL or values, so
 * it may be logged. The API edge maps it to an HTTP status.
 */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly kind: DatabaseErrorKind;
  readonly sqlState: string | undefined;
  readonly constraint: string | undefined;
  /** The SQLSTATE of our own RAISE statements; lib/queue/db-refusals.ts explains each. */
  readonly code: string | undefined;
  /** True if nothing of the statement or transaction can have been stored, so repeating it is safe. */
  readonly undone: boolean;
  /** True if the connection must not be used again. */
  readonly connectionLost: boolean;
  /** The server's message. It can hold values, so use it in a debugger, never in a log or an answer. Not enumerable. */
  declare readonly serverMessage: string;

  constructor(init: DatabaseErrorInit) {
    super(describe(init));
    this.kind = init.kind;
    this.sqlState = init.sqlState;
    this.constraint = init.constraint;
    this.code = init.sqlState?.startsWith("LH") ? init.sqlState : undefined;
    this.undone = init.undone ?? false;
    this.connectionLost = init.connectionLost ?? false;
    Object.defineProperty(this, "serverMessage", { value: init.serverMessage ?? "", enumerable: false });
  }
}

/**
 * Returns true if the database could not answer for the moment; a refusal is permanent and returns false. Matches by
 * name and not by class, because parts of an application are bundled and reloaded separately, so one class may exist
 * twice.
 */
export const isUnavailable = (error: unknown): error is DatabaseError =>
  error instanceof Error &&
  error.name === "DatabaseError" &&
  ["unavailable", "timeout", "retryable"].includes((error as DatabaseError).kind);

function describe({ kind, sqlState, constraint }: DatabaseErrorInit): string {
  const parts = [sqlState && `SQLSTATE ${sqlState}`, constraint && `constraint ${constraint}`].filter(Boolean);
  return `database error: ${kind}${parts.length > 0 ? ` (${parts.join(", ")})` : ""}`;
}

/**
 * SQLSTATEs for a prepared statement that is missing or already exists: a pooler moved the session to another
 * connection.
 */
export const PREPARED_LOST: ReadonlySet<string> = new Set(["26000", "42P05"]);

const KIND_BY_STATE: Readonly<Record<string, DatabaseErrorKind>> = {
  "23505": "conflict",
  "23503": "conflict",
  "23P01": "conflict",
  "23514": "invalid",
  "23502": "invalid",
  "42501": "forbidden",
  "40001": "retryable",
  "40P01": "retryable",
  "57014": "timeout",
  "55P03": "timeout",
  "25P03": "timeout",
  "25P04": "timeout",
  // A standby, or a server set to read-only. A new connection may reach the primary.
  "25006": "unavailable",
  "57P01": "unavailable",
  "57P02": "unavailable",
  "57P03": "unavailable",
  "57P05": "unavailable",
  "26000": "unavailable",
  "42P05": "unavailable",
};

const KIND_BY_CLASS: Readonly<Record<string, DatabaseErrorKind>> = {
  "08": "unavailable",
  "22": "invalid",
  "53": "unavailable",
  "58": "unavailable",
};

// With these errors the server ends the session, or the session is connected to the wrong server.
const ENDS_CONNECTION = new Set(["25006", "25P03", "25P04", "57P01", "57P02", "57P03", "57P05", ...PREPARED_LOST]);
const ALWAYS_UNDONE = new Set(["40001", "40P01", "53300", "57P03", ...PREPARED_LOST]);

/** Turns any error from pg or drizzle into a {@link DatabaseError}; a DatabaseError is returned unchanged. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const { code, constraint, message } = fieldsOf(error);
  const serverMessage = message;
  if (code && /^[0-9A-Z]{5}$/.test(code) && !isSocketError(code)) {
    const kind = KIND_BY_STATE[code] ?? KIND_BY_CLASS[code.slice(0, 2)] ?? "other";
    const connectionLost = ENDS_CONNECTION.has(code) || code.startsWith("08");
    return new DatabaseError({
      kind: isStalePlan(code, message) ? "retryable" : kind,
      sqlState: code,
      constraint,
      undone: ALWAYS_UNDONE.has(code) || isStalePlan(code, message),
      connectionLost: connectionLost || isStalePlan(code, message),
      serverMessage,
    });
  }
  if (/query read timeout/i.test(message))
    return new DatabaseError({ kind: "timeout", connectionLost: true, serverMessage });
  if (isSocketError(code) || /timeout|terminat|connection|closed|not queryable/i.test(message)) {
    return new DatabaseError({ kind: "unavailable", connectionLost: true, serverMessage });
  }
  // A value that cannot be encoded (a cyclic object, for example) never reached the server.
  return new DatabaseError({ kind: "other", connectionLost: true, serverMessage });
}

/** Turns a failure to get a connection into a DatabaseError with `undone` set, because nothing can have been sent. */
export function toAcquireError(error: unknown): DatabaseError {
  const known = toDatabaseError(error);
  const { sqlState, serverMessage } = known;
  // A wrong password or a missing database is an installation fault, but for the caller the database does not answer.
  return new DatabaseError({ kind: "unavailable", sqlState, undone: true, connectionLost: true, serverMessage });
}

/** Returns the same error with `undone` set. */
export function asUndone(error: DatabaseError): DatabaseError {
  const { kind, sqlState, constraint, connectionLost, serverMessage } = error;
  return new DatabaseError({ kind, sqlState, constraint, connectionLost, serverMessage, undone: true });
}

// A prepared SELECT whose table got a new column fails before it runs, and keeps failing on that connection.
function isStalePlan(code: string, message: string): boolean {
  return code === "0A000" && message.includes("cached plan");
}

// EPIPE is as long as a SQLSTATE, but no SQLSTATE class begins with E.
function isSocketError(code: string | undefined): boolean {
  return code !== undefined && /^E[A-Z_]+$/.test(code);
}

function fieldsOf(error: unknown): { code: string | undefined; constraint: string | undefined; message: string } {
  const fields = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    code: text(fields.code),
    constraint: text(fields.constraint),
    message: text(fields.message) ?? String(error),
  };
}
