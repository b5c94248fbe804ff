import { describe, expect, test } from "vitest";
import { farthest, jain, median, percentile } from "./stats";

describe("statistics of the benchmarks", () => {
  test("the median of an odd or even number of rounds, in any order", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([10, 9])).toBe(9.5);
  });

  test("a percentile is a measured value", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([percentile(hundred, 0.5), percentile(hundred, 0.95), percentile(hundred, 1)]).toEqual([50, 95, 100]);
    expect(percentile([7], 0.99)).toBe(7);
  });

  test("fairness is 1 when all got the same and 1/n when one got everything", () => {
    expect(jain([5, 5, 5, 5])).toBe(1);
    expect(jain([8, 0, 0, 0])).toBe(0.25);
    expect(jain([])).toBeNaN();
  });

  test("the window whose share of hits is farthest from the expected share, in both directions", () => {
    const hits = [true, false, true, false, true, true, true, false];
    expect(farthest(hits, { window: 4, share: 0.5 })).toBe(0.75);
    expect(farthest(hits, { window: 2, share: 0.9 })).toBe(0.5);
    expect(farthest(hits, { window: 8, share: 0.1 })).toBe(5 / 8);
    expect(farthest(hits, { window: 9, share: 0.1 })).toBeNaN();
  });
});
