import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withDeadline } from "./deadline";

const never = new Promise<never>(() => {});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("resolves with the work's value and clears the timer", async () => {
  const onLate = vi.fn(() => "late");
  expect(await withDeadline(Promise.resolve("done"), 100, onLate)).toBe("done");
  expect(vi.getTimerCount()).toBe(0);
  expect(onLate).not.toHaveBeenCalled();
});

test("rejects with the work's error and clears the timer", async () => {
  await expect(withDeadline(Promise.reject(new Error("failed")), 100)).rejects.toThrow("failed");
  expect(vi.getTimerCount()).toBe(0);
});

test("resolves with the result of onLate at the deadline, and not before", async () => {
  const onLate = vi.fn(() => "late");
  const answer = withDeadline(never, 100, onLate);
  await vi.advanceTimersByTimeAsync(99);
  expect(onLate).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await answer).toBe("late");
});

test("rejects with what onLate throws", async () => {
  const answer = withDeadline(never, 100, () => {
    throw new Error("too slow");
  });
  const refused = expect(answer).rejects.toThrow("too slow");
  await vi.advanceTimersByTimeAsync(100);
  await refused;
});

test("resolves with undefined at the deadline without onLate", async () => {
  const answer = withDeadline(never, 100);
  await vi.advanceTimersByTimeAsync(100);
  expect(await answer).toBeUndefined();
});

test("a rejection after the deadline is not unhandled", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const { promise, reject } = deferred();
  const answer = withDeadline(promise, 100);
  await vi.advanceTimersByTimeAsync(100);
  await answer;
  vi.useRealTimers();
  reject(new Error("later"));
  await new Promise(setImmediate);
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

function deferred() {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<never>((_, rejects) => {
    reject = rejects;
  });
  return { promise, reject };
}
