import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FeedSource } from "./feed-source";
import { StreamHub } from "./stream-hub";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => vi.useRealTimers());

function setUp(lanesOf: Record<string, number[]> = { a: [1], b: [2] }) {
  const reads: string[] = [];
  const state = { wake: (_: string) => {}, opened: 0, closed: 0, failing: false, n: 0 };
  const source: FeedSource = {
    changes: async (tenant, position) => {
      if (state.failing) throw new Error("down");
      reads.push(tenant);
      state.n += 1;
      return {
        events: position === undefined ? [] : [{ event: "job.changed", data: `${tenant}${state.n}` }],
        position: state.n,
      };
    },
    lanes: async (tenant) => new Set(lanesOf[tenant]),
    onError: () => {},
  };
  const hub = new StreamHub(source, (onWake) => {
    state.opened += 1;
    state.wake = onWake;
    const close = async () => {
      state.closed += 1;
    };
    return { close };
  });
  return { hub, reads, state };
}

test("one connection and one query serve every tab of a tenant", async () => {
  const { hub, reads, state } = setUp();
  const seen: unknown[] = [];
  for (let tab = 0; tab < 20; tab += 1) hub.subscribe("a", (event) => seen.push(event.data));
  await vi.advanceTimersByTimeAsync(0);
  state.wake("1");
  await vi.advanceTimersByTimeAsync(250);
  expect([state.opened, reads.length, seen.length, new Set(seen).size]).toEqual([1, 2, 20, 1]);
});

test("a burst of notifications is read at most every 250 ms, and the last one is not lost", async () => {
  const { hub, reads, state } = setUp();
  hub.subscribe("a", () => {});
  await vi.advanceTimersByTimeAsync(0);
  reads.length = 0;
  for (let i = 0; i < 100; i += 1) {
    state.wake("1");
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(250);
  expect(reads.length).toBeGreaterThanOrEqual(4);
  expect(reads.length).toBeLessThanOrEqual(6);
});

test("notifications for another tenant's lanes cause no query", async () => {
  const { hub, reads, state } = setUp();
  hub.subscribe("a", () => {});
  await vi.advanceTimersByTimeAsync(0);
  reads.length = 0;
  state.wake("2,3");
  await vi.advanceTimersByTimeAsync(1000);
  reads.length = 0;
  for (let i = 0; i < 20; i += 1) {
    state.wake("2,3");
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(reads).toEqual([]);
  state.wake("*");
  await vi.advanceTimersByTimeAsync(250);
  expect(reads).toEqual(["a"]);
});

test("a new lane is recognised with its first notification", async () => {
  const lanesOf: Record<string, number[]> = { a: [1] };
  const { hub, reads, state } = setUp(lanesOf);
  hub.subscribe("a", () => {});
  await vi.advanceTimersByTimeAsync(0);
  reads.length = 0;
  lanesOf.a = [1, 7];
  state.wake("7");
  await vi.advanceTimersByTimeAsync(250);
  state.wake("7");
  await vi.advanceTimersByTimeAsync(250);
  expect(reads).toEqual(["a", "a"]);
});

test("a lost notification or a database that was down only delays a change", async () => {
  const { hub, reads, state } = setUp();
  hub.subscribe("a", () => {});
  await vi.advanceTimersByTimeAsync(0);
  state.failing = true;
  state.wake("1");
  await vi.advanceTimersByTimeAsync(250);
  state.failing = false;
  reads.length = 0;
  await vi.advanceTimersByTimeAsync(2000);
  expect(reads).toEqual(["a"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(reads).toEqual(["a", "a"]);
});

test("without subscribers no query runs, and the connection is closed after a while", async () => {
  const { hub, reads, state } = setUp();
  const leave = hub.subscribe("a", () => {});
  await vi.advanceTimersByTimeAsync(0);
  leave();
  reads.length = 0;
  state.wake("1");
  await vi.advanceTimersByTimeAsync(60_000);
  expect([reads.length, state.closed]).toEqual([0, 1]);
  hub.subscribe("b", () => {});
  expect(state.opened).toBe(2);
});
