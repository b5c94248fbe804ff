import type { RetryPolicy } from "../types";

/** What follows a failed attempt. Delays are seconds, to be added to the database's clock. */
export type RetryDecision =
  | { readonly outcome: "retry"; readonly delaySeconds: number }
  | { readonly outcome: "dead_letter" | "failed"; readonly reason: "attempts-exhausted" | "not-retryable" };

export interface FailedAttempt {
  /** Attempts that this run has spent, this one included. */
  readonly attemptsSpent: number;
  readonly maxAttempts: number;
  readonly retryable: boolean;
  /** What the other side asked for (Retry-After). */
  readonly retryAfterSeconds?: number;
  readonly deadLetter: boolean;
}

/** A number in [0, 1), handed in so that the policy has no chance of its own. */
export type Random = () => number;

/** Never grants more than `maxAttempts`; a definition that keeps no dead letters ends as failed instead. */
export function decideRetry(failed: FailedAttempt, policy: RetryPolicy, random: Random): RetryDecision {
  const end = failed.deadLetter ? "dead_letter" : "failed";
  if (!failed.retryable || policy.strategy === "none") return { outcome: end, reason: "not-retryable" };
  if (failed.attemptsSpent >= failed.maxAttempts) return { outcome: end, reason: "attempts-exhausted" };
  const backoff = backoffSeconds(failed.attemptsSpent, policy, random);
  // A caller may have computed it from what the other side sent; NaN is no number of seconds.
  const asked = Math.min(Math.max(failed.retryAfterSeconds || 0, 0), policy.maxDelaySeconds);
  return { outcome: "retry", delaySeconds: Math.max(backoff, asked) };
}

/**
 * The delay after the n-th spent attempt (n ≥ 1), never over `maxDelaySeconds`, never negative, never NaN.
 * Exponential: delay · multiplier^(n−1); linear: delay · n; random: anywhere up to the exponential one.
 */
export function backoffSeconds(attemptsSpent: number, policy: RetryPolicy, random: Random): number {
  const n = Math.max(1, attemptsSpent);
  const plain = Math.min(plainDelay(n, policy, random), policy.maxDelaySeconds);
  const jittered = plain * (1 + policy.jitter * (2 * random() - 1));
  return Math.min(Math.max(jittered, 0), policy.maxDelaySeconds);
}

function plainDelay(n: number, policy: RetryPolicy, random: Random): number {
  // 2^1023 is the largest power that is finite; the cap makes the difference invisible.
  const exponential = policy.delaySeconds * Math.min(policy.multiplier ** Math.min(n - 1, 300), Number.MAX_VALUE);
  switch (policy.strategy) {
    case "exponential":
      return exponential;
    case "linear":
      return policy.delaySeconds * n;
    case "random":
      return Math.min(exponential, policy.maxDelaySeconds) * random();
    case "fixed":
    case "none":
      return policy.delaySeconds;
  }
}

/** A job whose leases ran out this often ends as `worker_lost`: it probably kills its workers. */
export const MAX_RECLAIMS = 10;

export interface LostLease {
  /** Whether the attempt had started; one that had not does not count against max_attempts. */
  readonly started: boolean;
  readonly attemptsSpent: number;
  readonly maxAttempts: number;
  /** How often this run was reclaimed before. */
  readonly reclaims: number;
  readonly deadLetter: boolean;
}

/**
 * What follows a lease that ran out. The first reclaim is only spread by half a second, so that a crashed worker's jobs
 * go on at once; later ones wait as after a failure.
 */
export function decideAfterLostLease(lost: LostLease, policy: RetryPolicy, random: Random): RetryDecision {
  const end = lost.deadLetter ? "dead_letter" : "failed";
  const spent = lost.attemptsSpent + (lost.started ? 1 : 0);
  if (lost.reclaims + 1 >= MAX_RECLAIMS) return { outcome: end, reason: "not-retryable" };
  if (lost.started && spent >= lost.maxAttempts) return { outcome: end, reason: "attempts-exhausted" };
  const delaySeconds = lost.reclaims === 0 ? 0.5 * random() : backoffSeconds(lost.reclaims, policy, random);
  return { outcome: "retry", delaySeconds };
}
