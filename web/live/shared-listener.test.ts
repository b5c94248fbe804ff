import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Hearer, SharedListener } from "./shared-listener";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const state = { opened: 0, closed: 0, joined: undefined as Hearer | undefined };
  const listener = new SharedListener((joined) => {
    state.opened += 1;
    state.joined = joined;
    return {
      close: async () => {
        state.closed += 1;
      },
    };
  });
  const heard: string[] = [];
  const hearer = (name: string): Hearer => ({
    onNotify: (channel, payload) => heard.push(`${name} ${channel} ${payload}`),
    onReady: () => heard.push(`${name} ready`),
  });
  return { listener, state, heard, hearer };
}

test("one connection serves all listeners, and a later one is ready at once", () => {
  const { listener, state, heard, hearer } = setUp();
  listener.join(hearer("a"));
  state.joined?.onReady();
  const leave = listener.join(hearer("b"));
  state.joined?.onNotify("work", "7");
  leave();
  state.joined?.onNotify("work", "8");
  expect(heard).toEqual(["a ready", "b ready", "a work 7", "b work 7", "a work 8"]);
  expect(state.opened).toBe(1);
});

test("the connection closes thirty seconds after the last listener has left, unless another one joins", async () => {
  const { listener, state, hearer } = setUp();
  listener.join(hearer("a"))();
  await vi.advanceTimersByTimeAsync(29_000);
  const leave = listener.join(hearer("b"));
  await vi.advanceTimersByTimeAsync(60_000);
  expect([state.opened, state.closed]).toEqual([1, 0]);
  leave();
  leave();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(state.closed).toBe(1);
  listener.join(hearer("c"));
  expect(state.opened).toBe(2);
  await listener.close();
  expect(state.closed).toBe(2);
});
