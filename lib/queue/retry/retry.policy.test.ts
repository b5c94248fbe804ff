import { describe, expect, test } from "vitest";
import type { RetryPolicy, RetryStrategy } from "../types";
import { backoffSeconds, decideAfterLostLease, decideRetry, MAX_RECLAIMS } from "./retry.policy";

const policy = (change: Partial<RetryPolicy> = {}): RetryPolicy => ({
  strategy: "exponential",
  delay_seconds: 10,
  multiplier: 2,
  max_delay_seconds: 3600,
  jitter: 0,
  ...change,
});
const middle = () => 0.5;
const failed = { attemptsSpent: 1, maxAttempts: 3, retryable: true, deadLetter: true };

describe("backoff", () => {
  test.each<[RetryStrategy, number[]]>([
    ["exponential", [10, 20, 40, 80]],
    ["linear", [10, 20, 30, 40]],
    ["fixed", [10, 10, 10, 10]],
    ["random", [5, 10, 20, 40]],
  ])("F-03 %s", (strategy, expected) => {
    expect([1, 2, 3, 4].map((n) => backoffSeconds(n, policy({ strategy }), middle))).toEqual(expected);
  });

  test("LEASE-23 ten thousand jobs that fail together are not retried together", () => {
    const spread = policy({ jitter: 0.2 });
    const delays = Array.from({ length: 10_000 }, (_, n) => backoffSeconds(1, spread, () => n / 10_000));
    const inSecond = (second: number) => delays.filter((delay) => Math.floor(delay) === second).length;
    expect([8, 9, 10, 11].map(inSecond)).toEqual([2500, 2500, 2500, 2500]);
    expect([Math.min(...delays), Math.max(...delays)].map(Math.round)).toEqual([8, 12]);
  });

  test("LEASE-33 never shrinks, exceeds its cap or becomes negative or NaN, up to a hundred attempts", () => {
    const delays = Array.from({ length: 100 }, (_, n) => backoffSeconds(n + 1, policy({ multiplier: 10 }), middle));
    expect(delays.every((delay, n) => Number.isFinite(delay) && delay >= (delays[n - 1] ?? 0) && delay <= 3600)).toBe(
      true,
    );
    expect(backoffSeconds(100_000, policy({ multiplier: 10 }), middle)).toBe(3600);
    expect(backoffSeconds(100_000, policy({ multiplier: 10, delay_seconds: 0 }), middle)).toBe(0);
  });

  test("A-07 jitter changes a delay by at most its share in both directions", () => {
    expect(backoffSeconds(1, policy({ jitter: 0.2 }), () => 0)).toBeCloseTo(8);
    expect(backoffSeconds(1, policy({ jitter: 0.2 }), () => 0.999999)).toBeCloseTo(12, 3);
  });
});

describe("after a failed attempt", () => {
  test("Z-08 a job is retried while attempts are left, then becomes a dead letter", () => {
    expect(decideRetry(failed, policy(), middle)).toEqual({ outcome: "retry", delaySeconds: 10 });
    expect(decideRetry({ ...failed, attemptsSpent: 3 }, policy(), middle)).toMatchObject({ outcome: "dead_letter" });
    expect(decideRetry({ ...failed, attemptsSpent: 3, deadLetter: false }, policy(), middle)).toMatchObject({
      outcome: "failed",
    });
  });

  test("a failure that is not retryable ends the job, and so does a definition without retries", () => {
    const end = { outcome: "dead_letter", reason: "not-retryable" };
    expect(decideRetry({ ...failed, retryable: false }, policy(), middle)).toEqual(end);
    expect(decideRetry(failed, policy({ strategy: "none" }), middle)).toEqual(end);
  });

  test("LEASE-33 Retry-After is honoured up to the cap", () => {
    expect(decideRetry({ ...failed, retryAfterSeconds: 60 }, policy(), middle)).toMatchObject({ delaySeconds: 60 });
    const tenYears = { ...failed, retryAfterSeconds: 3e8 };
    expect(decideRetry(tenYears, policy(), middle)).toMatchObject({ delaySeconds: 3600 });
    expect(decideRetry({ ...failed, retryAfterSeconds: -5 }, policy(), middle)).toMatchObject({ delaySeconds: 10 });
  });
});

describe("after a lost lease", () => {
  const lost = { started: true, attemptsSpent: 0, maxAttempts: 3, reclaims: 0, deadLetter: true };

  test("the first rescue waits at most half a second", () => {
    expect(decideAfterLostLease(lost, policy(), () => 0.999)).toMatchObject({
      outcome: "retry",
      delaySeconds: expect.closeTo(0.5, 2),
    });
    expect(decideAfterLostLease({ ...lost, reclaims: 1 }, policy(), middle)).toMatchObject({ delaySeconds: 10 });
  });

  test("an attempt that had begun is spent; one that had not is not", () => {
    expect(decideAfterLostLease({ ...lost, attemptsSpent: 2 }, policy(), middle)).toMatchObject({
      reason: "attempts-exhausted",
    });
    expect(decideAfterLostLease({ ...lost, attemptsSpent: 2, started: false }, policy(), middle)).toMatchObject({
      outcome: "retry",
    });
  });

  test("a job that was rescued ten times ends, whatever its budget", () => {
    const again = { ...lost, started: false, maxAttempts: 100, reclaims: MAX_RECLAIMS - 1 };
    expect(decideAfterLostLease(again, policy(), middle)).toMatchObject({ outcome: "dead_letter" });
    expect(decideAfterLostLease({ ...again, reclaims: MAX_RECLAIMS - 2 }, policy(), middle)).toMatchObject({
      outcome: "retry",
    });
  });
});
