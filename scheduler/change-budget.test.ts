import { expect, test } from "vitest";
import { ChangeBudget } from "./change-budget";

/** Times, in seconds, at which changes that never stop are published. */
function publishedOf(budget: ChangeBudget, untilMs: number): number[] {
  const published: number[] = [];
  for (let now = 0; now < untilMs; ) {
    published.push(now / 1000);
    // A folder is read every two seconds.
    now = Math.max(now + 2000, budget.spend(now));
  }
  return published;
}

test("constant changes use up the burst, then the rate of whichever bucket is empty", () => {
  const buckets = [
    { most: 6, everyMs: 10_000 },
    { most: 20, everyMs: 30_000 },
  ];
  const published = publishedOf(new ChangeBudget(buckets, 0), 3_600_000);
  expect(published.filter((at) => at < 60).length).toBeLessThanOrEqual(12);
  expect(published.filter((at) => at >= 1800)).toHaveLength(60);
});

test("the burst refills while nothing changes", () => {
  const budget = new ChangeBudget([{ most: 2, everyMs: 1000 }], 0);
  expect([budget.spend(0), budget.spend(0), budget.spend(10_000), budget.spend(10_000)]).toEqual([
    0, 1000, 10_000, 11_000,
  ]);
});
