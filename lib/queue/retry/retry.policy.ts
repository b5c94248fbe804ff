/**
 * Retry: what happens after a failed attempt or a lost lease. All functions are pure; the caller writes the decision.
 * A run never spends more than `max_attempts` attempts, and an attempt that had not begun is not counted. A delay never
 * exceeds `max_delay_seconds`.
 * Start with `decideRetry` here. `retry-levels.policy.ts` merges the settings of job, definition, queue and
 * environment; `retry-settings.policy.ts` validates them.
 */
import type { RetryPolicy } from "../types";

/** What follows a failed attempt. Delays are seconds, added to the database's clock. */
export type RetryDecision =
  | { readonly outcome: "retry"; readonly delaySeconds: number }
  | { readonly outcome: "dead_letter" | "failed"; readonly reason: "attempts-exhausted" | "not-retryable" };

export interface FailedAttempt {
  /** Attempts that this run has spent, including this one. */
  readonly attemptsSpent: number;
  readonly maxAttempts: number;
  readonly retryable: boolean;
  /** The delay that the remote service asked for (Retry-After). */
  readonly retryAfterSeconds?: number;
  readonly deadLetter: boolean;
}

/** Returns a number in [0, 1). Passed in, so that the policy stays deterministic. */
export type Random = () => number;

/**
 * Decides between a retry and the end of the run. Never grants more than `maxAttempts`. A definition without dead
 * letters ends as failed instead.
 */
export function decideRetry(failed: FailedAttempt, policy: RetryPolicy, random: Random): RetryDecision {
  const end = failed.deadLetter ? "dead_letter" : "failed";
  if (!failed.retryable || policy.strategy === "none") return { outcome: end, reason: "not-retryable" };
  if (failed.attemptsSpent >= failed.maxAttempts) return { outcome: end, reason: "attempts-exhausted" };
  const backoff = backoffSeconds(failed.attemptsSpent, policy, random);
  // A caller may have parsed a remote response; NaN counts as no delay.
  const asked = Math.min(Math.max(failed.retryAfterSeconds || 0, 0), policy.max_delay_seconds);
  return { outcome: "retry", delaySeconds: Math.max(backoff, asked) };
}

/**
 * Returns the delay in seconds after the n-th spent attempt (n ≥ 1). The delay is never over `max_delay_seconds`,
 * negative or NaN.
 * Exponential: delay · multiplier^(n−1); linear: delay · n; random: anywhere up to the exponential delay.
 */
export function backoffSeconds(attemptsSpent: number, policy: RetryPolicy, random: Random): number {
  const n = Math.max(1, attemptsSpent);
  const plain = Math.min(plainDelay(n, policy, random), policy.max_delay_seconds);
  const jittered = plain * (1 + policy.jitter * (2 * random() - 1));
  return Math.min(Math.max(jittered, 0), policy.max_delay_seconds);
}

function plainDelay(n: number, policy: RetryPolicy, random: Random): number {
  // Keeps the power finite (2^1023 is the largest finite power of two); the cap hides the difference.
  const exponential = policy.delay_seconds * Math.min(policy.multiplier ** Math.min(n - 1, 300), Number.MAX_VALUE);
  switch (policy.strategy) {
    case "exponential":
      return exponential;
    case "linear":
      return policy.delay_seconds * n;
    case "random":
      return Math.min(exponential, policy.max_delay_seconds) * random();
    case "fixed":
    case "none":
      return policy.delay_seconds;
  }
}

/** A job whose leases expired this often ends with the error class `worker_lost`: it probably kills its workers. */
export const MAX_RECLAIMS = 10;

export interface LostLease {
  /** True if the attempt had begun. An attempt that had not begun does not count against max_attempts. */
  readonly started: boolean;
  readonly attemptsSpent: number;
  readonly maxAttempts: number;
  /** How often this run was reclaimed before. */
  readonly reclaims: number;
  readonly deadLetter: boolean;
}

/**
 * Decides what follows an expired lease. The first reclaim waits at most half a second, so a crashed worker's jobs
 * continue almost at once; later ones wait as after a failure.
 */
export function decideAfterLostLease(lost: LostLease, policy: RetryPolicy, random: Random): RetryDecision {
  const end = lost.deadLetter ? "dead_letter" : "failed";
  const spent = lost.attemptsSpent + (lost.started ? 1 : 0);
  if (lost.reclaims + 1 >= MAX_RECLAIMS) return { outcome: end, reason: "not-retryable" };
  if (lost.started && spent >= lost.maxAttempts) return { outcome: end, reason: "attempts-exhausted" };
  const delaySeconds = lost.reclaims === 0 ? 0.5 * random() : backoffSeconds(lost.reclaims, policy, random);
  return { outcome: "retry", delaySeconds };
}
