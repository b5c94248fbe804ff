import { CLASS_POLICIES, type ErrorClass, errorClassOf, type RetryClass } from "../error-classes";
import type { RetryClasses, RetryPolicy, RetrySettings, RetryStrategy } from "../types";

/** The retry policy where no level sets a value. */
export const DEFAULT_RETRY: RetryPolicy = {
  strategy: "exponential",
  delay_seconds: 10,
  multiplier: 2,
  max_delay_seconds: 3600,
  jitter: 0.2,
};

/** The levels that can set how a job is retried. Each overrides those after it. */
export interface RetryLevels {
  readonly job: { readonly retryDelaySeconds: number | null; readonly retryMultiplier: number | null };
  readonly definition: { readonly retry: RetrySettings; readonly retryClasses: RetryClasses };
  readonly queue?: RetrySettings | undefined;
  readonly environment?: RetrySettings | undefined;
}

/** The policy for one failure. */
export interface FailurePolicy extends RetryPolicy {
  readonly retryable: boolean;
  /**
   * The limit of the error class: a run ends after this many spent attempts. Null = only the job's own limit counts.
   */
  readonly max_attempts: number | null;
}

/** The retry settings of a definition in its columns. */
export interface RetryColumns {
  readonly retry_strategy: RetryStrategy | null;
  readonly retry_delay_seconds: number | null;
  readonly retry_multiplier: number | null;
  readonly retry_max_delay_seconds: number | null;
  readonly retry_jitter: number | null;
  readonly retry_classes: RetryClasses;
}

/** The level of a definition. */
export const retryOf = (row: RetryColumns): RetryLevels["definition"] => ({
  retry: {
    strategy: row.retry_strategy,
    delay_seconds: row.retry_delay_seconds,
    multiplier: row.retry_multiplier,
    max_delay_seconds: row.retry_max_delay_seconds,
    jitter: row.retry_jitter,
  },
  retryClasses: row.retry_classes,
});

/**
 * Returns the policy for a failure of this class. The job overrides the definition, then the queue, then the
 * environment. At each level, the settings for the class override the general ones.
 * A level that sets a delay replaces the delay, factor and cap built into the class. `retryable` and `maxAttempts` of
 * the class stay.
 */
export function policyFor(errorType: string, levels: RetryLevels): FailurePolicy {
  const errorClass = errorClassOf(errorType);
  const { delay_seconds, multiplier, max_delay_seconds, ...builtIn } = CLASS_POLICIES[errorClass];
  const own = classSettings(levels, errorClass);
  const general = said({ ...said(levels.environment), ...said(levels.queue), ...said(levels.definition.retry) });
  const ofJob = said({ delay_seconds: levels.job.retryDelaySeconds, multiplier: levels.job.retryMultiplier });
  const ofClass = said({
    delay_seconds: own.delay_seconds,
    multiplier: own.multiplier,
    max_delay_seconds: own.max_delay_seconds,
  });
  const aLevelSetsDelay = [general, ofClass, ofJob].some((level) => level.delay_seconds !== undefined);
  return {
    ...DEFAULT_RETRY,
    ...(aLevelSetsDelay ? {} : said({ delay_seconds, multiplier, max_delay_seconds })),
    ...general,
    ...ofClass,
    ...ofJob,
    retryable: own.retryable ?? builtIn.retryable,
    max_attempts: own.max_attempts ?? builtIn.max_attempts ?? null,
  };
}

/** The general policy, which applies after a lost lease. No error class of the job caused that failure. */
export function generalPolicy(levels: RetryLevels): RetryPolicy {
  const { retryable: _retryable, max_attempts: _tries, ...policy } = policyFor("worker_lost", levels);
  return policy;
}

export interface TimedJob {
  readonly timeoutSeconds: number | null;
  /** Attempts of this run that timed out. */
  readonly timeouts: number;
}

/**
 * Returns the time limit of the next attempt in seconds. The job's own limit overrides its definition's; each timeout
 * of the run multiplies it, up to the installation's maximum.
 */
export function attemptTimeout(
  job: TimedJob,
  definition: { readonly timeoutSeconds: number; readonly retryClasses: RetryClasses },
  maxTimeoutSeconds: number,
): number {
  const factor = definition.retryClasses.timeout?.timeout_multiplier ?? CLASS_POLICIES.timeout.timeout_multiplier ?? 1;
  const base = job.timeoutSeconds ?? definition.timeoutSeconds;
  // The power may overflow to infinity after a hundred timeouts; the cap hides that.
  return Math.min(base * factor ** Math.max(0, job.timeouts), maxTimeoutSeconds);
}

function classSettings({ definition }: RetryLevels, errorClass: ErrorClass): RetryClasses[RetryClass] & object {
  return (definition.retryClasses as Partial<Record<ErrorClass, RetryClasses[RetryClass]>>)[errorClass] ?? {};
}

/** The level without its unset values. */
function said<T extends object>(level: T | undefined): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(level ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
