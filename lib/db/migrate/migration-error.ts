export type MigrationFailure =
  | "changed"
  | "newer"
  | "before-baseline"
  | "unrecorded"
  | "out-of-order"
  | "not-allowed"
  | "unreachable"
  | "failed"
  | "bad-folder";

/** Thrown when a database could not be brought up to date; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
  readonly reason: MigrationFailure;

  constructor(reason: MigrationFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
