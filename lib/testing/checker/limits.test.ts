import { describe, expect, test } from "vitest";
import { type Bound, overstepped, type RunningSpan } from "./limits";

const span = (claimedAt: number, endedAt: number, more: Partial<RunningSpan> = {}): RunningSpan => ({
  tenantId: "t",
  queue: "q",
  definitionKey: "d",
  claimedAt,
  endedAt,
  ...more,
});
const over = (bound: Omit<Bound, "name">, spans: readonly RunningSpan[]) => overstepped({ name: "b", ...bound }, spans);

describe("concurrent leases", () => {
  test("a lease that ends when another begins does not overlap it", () => {
    expect(over({ running: 1 }, [span(0, 10), span(10, 20)])).toBe(0);
    expect(over({ running: 1 }, [span(0, 10), span(9, 20)])).toBe(1);
    expect(over({ running: 1 }, [span(0, 10), span(1, 9), span(2, Number.POSITIVE_INFINITY)])).toBe(2);
  });

  test("only leases that the limit applies to count", () => {
    const spans = [
      span(0, 9),
      span(1, 9, { tenantId: "u" }),
      span(2, 9, { queue: "r" }),
      span(3, 9, { definitionKey: "e" }),
    ];
    expect(over({ running: 1, tenantId: "u" }, spans)).toBe(0);
    expect(over({ running: 1, queue: "q" }, spans)).toBe(2);
    expect(over({ running: 1, tenantId: "t", queue: "q" }, spans)).toBe(1);
    expect(over({ running: 1, tenantId: "t", queue: "q", definitionKey: "d" }, spans)).toBe(0);
  });

  test("after a limit was lowered, older leases may run and new ones may not begin", () => {
    const lowered = { running: 1, from: new Date(100) };
    expect(over(lowered, [span(0, 200), span(50, 200)])).toBe(0);
    expect(over(lowered, [span(0, 200), span(150, 200)])).toBe(1);
  });
});

describe("starts per second", () => {
  const starts = { perSecond: 2, burst: 3 };
  const at = (...times: number[]) => times.map((time) => span(time, time + 1));

  test("a burst followed by one start each half second is within it", () => {
    expect(over({ starts }, at(0, 0, 0, 500, 1000, 1500))).toBe(0);
  });

  test("one start too many is found anywhere in a sequence", () => {
    expect(over({ starts }, at(0, 0, 0, 0))).toBe(1);
    expect(over({ starts }, at(0, 0, 0, 500, 900))).toBe(1);
    expect(over({ starts }, at(0, 10_000, 10_000, 10_000, 10_000, 10_000))).toBe(2);
  });

  test("is exact for timestamps since 1970", () => {
    const now = 1_790_000_000_000;
    const even = Array.from({ length: 5000 }, (_, n) => now + n * 500);
    expect(over({ starts: { perSecond: 2, burst: 1 } }, at(...even))).toBe(0);
    expect(over({ starts: { perSecond: 2, burst: 1 } }, at(...even, now + 1))).toBe(1);
  });
});
