/**
 * The classes of errors, and how each is retried unless job, definition or queue set otherwise. Client-safe. Keep the
 * table of docs/retries.md the same.
 */
export const RETRY_CLASSES = [
  "transient_network",
  "rate_limit",
  "temporary_resource",
  "timeout",
  "database",
  "internal",
  "unknown",
  "validation",
  "authentication",
  "not_found",
  "permission",
  "invalid_input",
] as const;

/** A class whose policy a definition may change. */
export type RetryClass = (typeof RETRY_CLASSES)[number];

/** Why an attempt failed; stored as `error_type`. The last two are never caused or chosen by the job itself. */
export type ErrorClass = RetryClass | "command_not_allowed" | "worker_lost";

export interface ClassPolicy {
  /** False: the first such failure ends the run. */
  readonly retryable: boolean;
  readonly delay_seconds?: number;
  readonly multiplier?: number;
  readonly max_delay_seconds?: number;
  /**
   * Attempts of a run, including the first, after which a failure of this class ends it; never more than the
   * job's own limit.
   */
  readonly max_attempts?: number;
  /** Each timeout of the run multiplies the time limit by this factor. */
  readonly timeout_multiplier?: number;
}

const NEVER: ClassPolicy = { retryable: false };

export const CLASS_POLICIES: Readonly<Record<ErrorClass, ClassPolicy>> = {
  transient_network: { retryable: true, delay_seconds: 2, multiplier: 2, max_delay_seconds: 300, max_attempts: 6 },
  rate_limit: { retryable: true, delay_seconds: 60, multiplier: 1.5, max_delay_seconds: 3600, max_attempts: 4 },
  temporary_resource: { retryable: true, delay_seconds: 0, multiplier: 1, max_delay_seconds: 60, max_attempts: 4 },
  timeout: { retryable: true, max_attempts: 4, timeout_multiplier: 1.5 },
  database: { retryable: true, delay_seconds: 2, multiplier: 2, max_delay_seconds: 300, max_attempts: 6 },
  internal: { retryable: true, delay_seconds: 5, multiplier: 2, max_delay_seconds: 3600, max_attempts: 3 },
  unknown: { retryable: true, delay_seconds: 5, multiplier: 2, max_delay_seconds: 3600, max_attempts: 3 },
  validation: NEVER,
  authentication: NEVER,
  not_found: NEVER,
  permission: NEVER,
  invalid_input: NEVER,
  command_not_allowed: NEVER,
  worker_lost: { retryable: true },
};

/** Returns the class of this name; `unknown` for any other name. */
export function errorClassOf(name: string): ErrorClass {
  return Object.hasOwn(CLASS_POLICIES, name) ? (name as ErrorClass) : "unknown";
}
