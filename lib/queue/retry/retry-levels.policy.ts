import { CLASS_POLICIES, type ErrorClass, errorClassOf, type RetryClass } from "../error-classes";
import type { RetryClasses, RetryPolicy, RetrySettings } from "../types";

/** What an installation does where nobody says otherwise. */
export const DEFAULT_RETRY: RetryPolicy = {
  strategy: "exponential",
  delaySeconds: 10,
  multiplier: 2,
  maxDelaySeconds: 3600,
  jitter: 0.2,
};

/** The levels that may say how a job is tried again, the first over the second and so on. */
export interface RetryLevels {
  readonly job: { readonly retryDelaySeconds: number | null; readonly retryMultiplier: number | null };
  readonly definition: { readonly retry: RetrySettings; readonly retryClasses: RetryClasses };
  readonly queue?: RetrySettings | undefined;
  readonly environment?: RetrySettings | undefined;
}

/** The policy for one failure. */
export interface FailurePolicy extends RetryPolicy {
  readonly retryable: boolean;
  /** Of the class: a run ends when it has spent this many attempts; null = only the job's own number counts. */
  readonly maxAttempts: number | null;
}

/**
 * The policy for a failure of this class. Job over definition over queue over environment; at each level what is
 * said for the class stands over what is said in general. A level that says a delay replaces the class's built-in delay,
 * factor and cap; whether and how often the class is tried is not touched by that.
 */
export function policyFor(errorType: string, levels: RetryLevels): FailurePolicy {
  const errorClass = errorClassOf(errorType);
  const { delaySeconds, multiplier, maxDelaySeconds, ...builtIn } = CLASS_POLICIES[errorClass];
  const own = classSettings(levels, errorClass);
  const general = said({ ...said(levels.environment), ...said(levels.queue), ...said(levels.definition.retry) });
  const ofJob = said({ delaySeconds: levels.job.retryDelaySeconds, multiplier: levels.job.retryMultiplier });
  const ofClass = said({
    delaySeconds: own.delaySeconds,
    multiplier: own.multiplier,
    maxDelaySeconds: own.maxDelaySeconds,
  });
  const someoneSaysDelay = [general, ofClass, ofJob].some((level) => level.delaySeconds !== undefined);
  return {
    ...DEFAULT_RETRY,
    ...(someoneSaysDelay ? {} : said({ delaySeconds, multiplier, maxDelaySeconds })),
    ...general,
    ...ofClass,
    ...ofJob,
    retryable: own.retryable ?? builtIn.retryable,
    maxAttempts: own.maxAttempts ?? builtIn.maxAttempts ?? null,
  };
}

/** The general policy: what follows a lost lease, which no class of the work's own has caused. */
export function generalPolicy(levels: RetryLevels): RetryPolicy {
  const { retryable: _retryable, maxAttempts: _tries, ...policy } = policyFor("worker_lost", levels);
  return policy;
}

export interface TimedJob {
  readonly timeoutSeconds: number | null;
  /** Attempts of this run that ended at their time limit. */
  readonly timeouts: number;
}

/**
 * Time limit of the next attempt in seconds: the job's own over its definition's, longer after each timeout of the run,
 * never over the installation's.
 */
export function attemptTimeout(
  job: TimedJob,
  definition: { readonly timeoutSeconds: number; readonly retryClasses: RetryClasses },
  maxTimeoutSeconds: number,
): number {
  const factor = definition.retryClasses.timeout?.timeoutMultiplier ?? CLASS_POLICIES.timeout.timeoutMultiplier ?? 1;
  const base = job.timeoutSeconds ?? definition.timeoutSeconds;
  // A power of a hundred timeouts may be infinite; the cap makes the difference invisible.
  return Math.min(base * factor ** Math.max(0, job.timeouts), maxTimeoutSeconds);
}

function classSettings({ definition }: RetryLevels, errorClass: ErrorClass): RetryClasses[RetryClass] & object {
  return (definition.retryClasses as Partial<Record<ErrorClass, RetryClasses[RetryClass]>>)[errorClass] ?? {};
}

/** Without what is not said. */
function said<T extends object>(level: T | undefined): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(level ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}
