import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchMemory } from "./memory-watch";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("A-01 a worker that stays over its memory limit is notified once, one that only peaks is not", () => {
  const calls: number[] = [];
  let held = 200;
  watchMemory({ limitBytes: 100, rss: () => held, onOver: (rss) => calls.push(rss) });
  vi.advanceTimersByTime(9000);
  held = 50;
  vi.advanceTimersByTime(1000);
  held = 200;
  vi.advanceTimersByTime(9000);
  expect(calls).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(calls).toEqual([200]);
});

test("without a limit the memory is not checked", () => {
  const calls: number[] = [];
  watchMemory({ limitBytes: 0, rss: () => 1e12, onOver: (rss) => calls.push(rss) });
  vi.advanceTimersByTime(60_000);
  expect(calls).toEqual([]);
});
