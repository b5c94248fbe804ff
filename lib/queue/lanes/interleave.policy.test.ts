import { describe, expect, test } from "vitest";
import { BAND_WEIGHTS } from "./fairness.policy";
import { interleave } from "./interleave.policy";

const groupsOf = (sizes: readonly number[]): { group: number; nth: number }[] =>
  sizes.flatMap((size, group) => Array.from({ length: size }, (_, nth) => ({ group, nth })));

describe("jobs claimed from several lanes at once", () => {
  test("run interleaved, so that every stretch contains each lane's share", () => {
    const sizes = BAND_WEIGHTS.map((weight) => weight * 16);
    const mixed = interleave(groupsOf(sizes), ({ group }) => group);
    expect(mixed).toHaveLength(496);
    for (let from = 0; from + 62 <= mixed.length; from += 1) {
      for (const [band, weight] of BAND_WEIGHTS.entries()) {
        const inside = mixed.slice(from, from + 62).filter(({ group }) => group === band).length;
        expect(Math.abs(inside - weight * 2)).toBeLessThanOrEqual(1);
      }
    }
  });

  test("keep the order of each lane and are all there; one lane is unchanged", () => {
    const items = groupsOf([7, 1, 0, 30]);
    const mixed = interleave(items, ({ group }) => group);
    expect(mixed).toHaveLength(items.length);
    for (const group of [0, 1, 3])
      expect(mixed.filter((item) => item.group === group)).toEqual(items.filter((item) => item.group === group));
    expect(interleave(items, () => 1)).toBe(items);
    expect(interleave([], () => 1)).toEqual([]);
  });
});
