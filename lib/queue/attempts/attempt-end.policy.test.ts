import { expect, test } from "vitest";
import { decideEnd, type ExecutionEnd } from "./attempt-end.policy";
import type { ClaimedJob, RunnableDefinition } from "./types";

const claimed: ClaimedJob = {
  jobId: "j",
  leaseNo: 4,
  tenantId: "t",
  laneNo: 1,
  definitionId: "d",
  definitionVersion: 1,
  payload: {},
  priority: 100,
  runNo: 1,
  attemptsSpent: 1,
  timeouts: 0,
  snoozes: 0,
  reclaims: 0,
  maxAttempts: 3,
  timeoutSeconds: null,
  retryDelaySeconds: 7,
  retryMultiplier: null,
  correlationId: null,
  chainDepth: 0,
  expiresInMs: null,
  claimNo: null,
  hasBegun: true,
  claimedAt: new Date(0),
  leaseSeconds: 30,
  sortKey: 0,
};
const definition: RunnableDefinition = {
  definitionId: "d",
  version: 1,
  key: "k",
  executor: "command",
  commandKey: "k",
  validate: () => [],
  timeoutSeconds: 60,
  maxAttempts: 3,
  leaseSeconds: 30,
  killGraceSeconds: 5,
  retry: { strategy: "exponential", delay_seconds: 10, multiplier: 2, max_delay_seconds: 3600, jitter: 0 },
  retryClasses: {},
  deadLetter: true,
};
const end = (execution: ExecutionEnd) => decideEnd({ claimed, definition, execution }, () => 0.5);
const failure = { kind: "failed", errorType: "unknown", message: "it broke", retryable: true } as const;

test("A-18 the job's own retry delay overrides its definition's", () => {
  expect(end(failure)).toMatchObject({ status: "failed", spent: true, retryInSeconds: 14, errorType: "unknown" });
});

test("Z-08 a timeout is a failed attempt, and the last attempt makes a dead letter", () => {
  expect(end({ kind: "timeout", message: "too long" })).toMatchObject({ status: "timeout", retryInSeconds: 14 });
  const last = { ...claimed, attemptsSpent: 2 };
  const ended = decideEnd({ claimed: last, definition, execution: failure }, () => 0.5);
  expect(ended).toMatchObject({ outcome: "dead_letter", spent: true });
  expect(ended.retryInSeconds).toBeUndefined();
});

test("LEASE-10 releasing or canceling a job spends no attempt", () => {
  expect(end({ kind: "released" })).toMatchObject({ status: "released", retryInSeconds: 0, spent: false });
  expect(end({ kind: "canceled" })).toMatchObject({ outcome: "canceled", spent: false });
});

test("an error text contains the message once, followed by the stack", () => {
  const stack = "Error: it broke\n    at one (a.ts:1)\n    at two (b.ts:2)";
  expect(end({ ...failure, stack }).errorText).toBe("it broke\n    at one (a.ts:1)\n    at two (b.ts:2)");
});

test("every end carries the lease that the attempt ran under", () => {
  expect(end({ kind: "succeeded", result: 1 })).toMatchObject({ jobId: "j", leaseNo: 4, tenantId: "t", result: 1 });
});

test("A-07 an error class can end a run before its attempts are used up, and never extends it", () => {
  const roomy = { ...claimed, maxAttempts: 10 };
  const after = (attemptsSpent: number, errorType: string, maxAttempts = roomy.maxAttempts) =>
    decideEnd(
      {
        claimed: { ...roomy, attemptsSpent, maxAttempts },
        definition,
        execution: { kind: "failed", errorType, message: "no" },
      },
      () => 0.5,
    );
  expect(after(1, "unknown").outcome).toBeUndefined();
  expect(after(2, "unknown").outcome).toBe("dead_letter");
  expect(after(2, "transient_network").outcome).toBeUndefined();
  expect(after(2, "transient_network", 3).outcome).toBe("dead_letter");
});

test("A-07 a permanent error class makes a dead letter at once, unless the error itself says whether it is retryable", () => {
  const of = (errorType: string, retryable?: boolean) =>
    end({ kind: "failed", errorType, message: "no", ...(retryable === undefined ? {} : { retryable }) }).outcome;
  const never = ["validation", "authentication", "not_found", "permission", "invalid_input", "command_not_allowed"];
  expect(never.map((name) => of(name))).toEqual(never.map(() => "dead_letter"));
  expect([of("unknown", false), of("not_found", true)]).toEqual(["dead_letter", undefined]);
});
