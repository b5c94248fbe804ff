import { expect, test } from "vitest";
import { describeWait, type WaitFacts } from "./wait-reason.policy";

const UNTIL = "2026-03-01T00:00:00.000Z";
const ready: WaitFacts = {
  status: "queued",
  isFuture: false,
  attemptsSpent: 0,
  until: UNTIL,
  hasWorker: true,
  pause: null,
};
const pause = { scope: "queue", reason: "stock-taking", until: null } as const;

test.each([
  [{ status: "running" }, null],
  [{ status: "blocked" }, "blocked"],
  [{ status: "paused" }, "paused"],
  [{ isFuture: true }, "scheduled"],
  [{ isFuture: true, attemptsSpent: 1 }, "retry_backoff"],
  [{ isFuture: true, attemptsSpent: 1, isPutOff: true }, "scheduled"],
  [{ isFuture: true, pause }, "scheduled"],
  [{ pause, hasWorker: false }, "paused"],
  [{ hasWorker: false }, "no_worker"],
  [{}, "position"],
] as const)("%j has the wait reason %s", (facts, code) => {
  expect(describeWait({ ...ready, ...facts })?.code ?? null).toBe(code);
});

test.each([
  [0, 1, "1st of 1 of its kind."],
  [1, 40, "2nd of 40 of its kind."],
  [2, 40, "3rd of 40 of its kind."],
  [3, 40, "4th of 40 of its kind."],
  [10, 40, "11th of 40 of its kind."],
  [21, 1000, "22nd of 1,000+ of its kind."],
  [112, 500, "113th of 500 of its kind."],
  [1000, 1000, "1,000+ jobs of its kind are before it."],
])("a job with %i of %i before it shows its position: %s", (ahead, total, detail) => {
  expect(describeWait({ ...ready, place: { ahead, total, limit: null } })?.detail).toBe(detail);
});
