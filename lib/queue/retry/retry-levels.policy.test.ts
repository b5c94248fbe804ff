import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLASS_POLICIES, type ErrorClass, RETRY_CLASSES } from "../error-classes";
import type { RetryClasses, RetrySettings, RetryStrategy } from "../types";
import { backoffSeconds, decideRetry } from "./retry.policy";
import { attemptTimeout, DEFAULT_RETRY, generalPolicy, policyFor, type RetryLevels } from "./retry-levels.policy";

const NOTHING: RetryLevels = {
  job: { retryDelaySeconds: null, retryMultiplier: null },
  definition: { retry: {}, retryClasses: {} },
};
const levels = (change: {
  job?: Partial<RetryLevels["job"]>;
  retry?: RetrySettings;
  retryClasses?: RetryClasses;
  queue?: RetrySettings;
  environment?: RetrySettings;
}): RetryLevels => ({
  job: { ...NOTHING.job, ...change.job },
  definition: { retry: change.retry ?? {}, retryClasses: change.retryClasses ?? {} },
  queue: change.queue,
  environment: change.environment,
});

describe("the policy of a failure", () => {
  test.each(Object.entries(CLASS_POLICIES))(
    "A-07 %s has its built-in policy without other settings",
    (name, builtIn) => {
      const { timeout_multiplier: _ofTheLimit, ...own } = builtIn;
      expect(policyFor(name, NOTHING)).toEqual({ ...DEFAULT_RETRY, max_attempts: null, ...own });
    },
  );

  test("A-18 is taken from job, definition, queue and environment in this order, and from the class before the general one", () => {
    const environment = { delay_seconds: 15 };
    const queue = { delay_seconds: 20 };
    const retry = { delay_seconds: 30 };
    const retryClasses = { rate_limit: { delay_seconds: 40 } };
    const job = { retryDelaySeconds: 50 };
    const delay = (change: Parameters<typeof levels>[0]) => policyFor("rate_limit", levels(change)).delay_seconds;
    expect(delay({})).toBe(60);
    expect(delay({ environment })).toBe(15);
    expect(delay({ environment, queue })).toBe(20);
    expect(delay({ environment, queue, retry })).toBe(30);
    expect(delay({ environment, queue, retry, retryClasses })).toBe(40);
    expect(delay({ environment, queue, retry, retryClasses, job })).toBe(50);
    expect(policyFor("unknown", levels({ queue, retry, retryClasses })).delay_seconds).toBe(30);
  });

  test("an own delay is not limited by the class's cap, and null means not set", () => {
    const policy = policyFor("transient_network", levels({ retry: { delay_seconds: 1800, multiplier: null } }));
    expect(policy).toMatchObject({ delay_seconds: 1800, max_delay_seconds: 3600, multiplier: 2, max_attempts: 6 });
    expect(policyFor("rate_limit", levels({ retry: { delay_seconds: null } })).delay_seconds).toBe(60);
  });

  test("A-07 a definition makes a class retryable or permanent", () => {
    const retryClasses = { not_found: { retryable: true, max_attempts: 2 }, unknown: { retryable: false } };
    expect(policyFor("not_found", levels({ retryClasses }))).toMatchObject({ retryable: true, max_attempts: 2 });
    expect(policyFor("unknown", levels({ retryClasses })).retryable).toBe(false);
  });

  test("a lost lease follows the general policy", () => {
    const given = levels({ retry: { strategy: "fixed", delay_seconds: 7 }, job: { retryMultiplier: 3 } });
    expect(generalPolicy(given)).toEqual({ ...DEFAULT_RETRY, strategy: "fixed", delay_seconds: 7, multiplier: 3 });
  });
});

describe("the time limit after timeouts", () => {
  const definition = { timeoutSeconds: 100, retryClasses: {} };

  test("A-07 it grows by half with each timeout, up to the installation's limit", () => {
    const limit = (timeouts: number) => attemptTimeout({ timeoutSeconds: null, timeouts }, definition, 300);
    expect([0, 1, 2, 3, 5000].map(limit)).toEqual([100, 150, 225, 300, 300]);
  });

  test("A-18 the job's own limit comes first, and a definition sets the factor", () => {
    const own = { ...definition, retryClasses: { timeout: { timeout_multiplier: 3 } } };
    expect(attemptTimeout({ timeoutSeconds: 10, timeouts: 2 }, own, 3600)).toBe(90);
  });
});

describe("bounds for any settings", () => {
  const seconds = fc.double({ min: 0, max: 86_400, noNaN: true });
  const factor = fc.double({ min: 1, max: 10, noNaN: true });
  const settings: fc.Arbitrary<RetrySettings> = fc.record(
    {
      strategy: fc.constantFrom<RetryStrategy | null>("exponential", "linear", "fixed", "random", null),
      delay_seconds: fc.option(seconds),
      multiplier: fc.option(factor),
      max_delay_seconds: fc.option(fc.double({ min: 0, max: 604_800, noNaN: true })),
      jitter: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    },
    { requiredKeys: [] },
  );
  const ofClass = fc.record(
    {
      retryable: fc.boolean(),
      delay_seconds: seconds,
      multiplier: factor,
      maxAttempts: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: [] },
  );
  const anyLevels: fc.Arbitrary<RetryLevels> = fc.record({
    job: fc.record({ retryDelaySeconds: fc.option(seconds), retryMultiplier: fc.option(factor) }),
    definition: fc.record({
      retry: settings,
      retryClasses: fc.dictionary(fc.constantFrom(...RETRY_CLASSES), ofClass) as fc.Arbitrary<RetryClasses>,
    }),
    queue: settings,
    environment: settings,
  });
  const anyClass = fc.constantFrom(...(Object.keys(CLASS_POLICIES) as ErrorClass[]));
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const attempts = fc.integer({ min: 1, max: 100_000 });

  test("LEASE-33 a delay is finite, not negative, and at most the cap; Retry-After can only lengthen it", () => {
    fc.assert(
      fc.property(anyLevels, anyClass, attempts, fc.tuple(chance, fc.double()), (given, name, n, [random, asked]) => {
        const policy = policyFor(name, given);
        const pause = backoffSeconds(n, policy, () => random);
        expect(pause).toBeGreaterThanOrEqual(0);
        expect(pause).toBeLessThanOrEqual(policy.max_delay_seconds);
        const failed = {
          attemptsSpent: n,
          maxAttempts: n + 1,
          retryable: true,
          deadLetter: true,
          retryAfterSeconds: asked,
        };
        const decision = decideRetry(failed, policy, () => random);
        const delay = decision.outcome === "retry" ? decision.delaySeconds : Number.NaN;
        expect(delay).toBeGreaterThanOrEqual(pause);
        expect(delay).toBeLessThanOrEqual(policy.max_delay_seconds);
      }),
      { numRuns: 1000 },
    );
  });

  test("LEASE-33 without jitter a delay never shrinks with the number of attempts", () => {
    fc.assert(
      fc.property(anyLevels, anyClass, fc.integer({ min: 1, max: 1000 }), chance, (given, name, n, random) => {
        const policy = { ...policyFor(name, given), jitter: 0 };
        expect(backoffSeconds(n + 1, policy, () => random)).toBeGreaterThanOrEqual(
          backoffSeconds(n, policy, () => random),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("A-07 a time limit never shrinks after a timeout and never exceeds the installation's", () => {
    const limits = fc.record({
      own: fc.option(fc.integer({ min: 1, max: 604_800 })),
      most: fc.integer({ min: 1, max: 604_800 }),
    });
    fc.assert(
      fc.property(
        limits,
        factor,
        fc.integer({ min: 0, max: 10_000 }),
        ({ own, most }, timeout_multiplier, timeouts) => {
          const definition = { timeoutSeconds: 3600, retryClasses: { timeout: { timeout_multiplier } } };
          const limit = (n: number) => attemptTimeout({ timeoutSeconds: own, timeouts: n }, definition, most);
          expect(limit(timeouts + 1)).toBeGreaterThanOrEqual(limit(timeouts));
          expect(limit(timeouts)).toBeGreaterThan(0);
          expect(limit(timeouts)).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
