import type { ErrorClass } from "./types";

export interface JobErrorOptions {
  readonly errorType?: ErrorClass;
  /** Overrides if another attempt follows; by default the class decides. */
  readonly retryable?: boolean | undefined;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

/** A failure with a class and a retry decision. Handlers throw it, or one of the classes below. */
export class JobError extends Error {
  override readonly name: string = "JobError";
  readonly errorType: ErrorClass;
  readonly retryable: boolean | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, options: JobErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.errorType = options.errorType ?? "unknown";
    this.retryable = options.retryable;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The attempt failed, and another one would fail as well. */
export class NonRetryableError extends JobError {
  override readonly name = "NonRetryableError";

  constructor(message: string, options: Omit<JobErrorOptions, "retryable"> = {}) {
    super(message, { ...options, retryable: false });
  }
}

/** The other side asked to be left alone for a while; the next attempt waits at least `retryAfterSeconds`. */
export class RateLimitedError extends JobError {
  override readonly name = "RateLimitedError";

  constructor(retryAfterSeconds: number, message = "rate limited") {
    super(message, { errorType: "rate_limit", retryAfterSeconds });
  }
}

/** The attempt no longer holds the job's lease. Thrown by operations under the fence, such as `ctx.transaction`. */
export class AttemptLostError extends Error {
  override readonly name = "LeaseLostError";

  constructor(message = "the lease of this attempt was lost") {
    super(message);
  }
}

/** A command that a handler ran did not succeed. */
export class CommandFailedError extends JobError {
  override readonly name = "CommandFailedError";
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;

  constructor(
    message: string,
    details: JobErrorOptions & { exitCode?: number | undefined; signal?: string | undefined },
  ) {
    super(message, details);
    this.exitCode = details.exitCode;
    this.signal = details.signal;
  }
}

/** The attempt was stopped or has ended, so its context can no longer be used. */
export class AttemptStoppedError extends Error {
  override readonly name = "AttemptStoppedError";

  constructor(reason: string) {
    super(`the attempt was stopped: ${reason}`);
  }
}

/** Ends an attempt without spending it; the job is released at once. Thrown while its tenant is suspended. */
export class ReleasedError extends Error {
  override readonly name = "ReleasedError";
}

/** Ends an attempt without spending it; the job comes back after a while. Thrown by `ctx.snooze`. */
export class SnoozedError extends Error {
  override readonly name = "SnoozedError";

  constructor(
    readonly seconds: number,
    readonly reason?: string,
  ) {
    super(reason ?? `snoozed for ${seconds} seconds`);
  }
}
