import fc from "fast-check";
import { expect, test } from "vitest";
import { distanceWithin, keyOf, similarPairs } from "./handlers/similar-values";

const values = (...texts: string[]) => texts.map((text, index) => ({ line: index + 2, text, key: keyOf(text) }));

test("pairs differ by a few letters and are in the order of their lines", () => {
  const given = values("Anna Meier", "Bernd", "Anna  MEYER", "Ana Mayer", "Berndt", "Zoe");
  const found = [...similarPairs(given, 2)].map(({ first, second, distance }) => [first.line, second.line, distance]);
  expect(found.toSorted()).toEqual([
    [2, 4, 1],
    [3, 6, 1],
    [4, 5, 2],
  ]);
});

/** The full table, as in textbooks. */
function wholeTable(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const here = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const exchanged = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      here.push(Math.min(exchanged, (above[column] ?? 0) + 1, (here[column - 1] ?? 0) + 1));
    }
    above = here;
  }
  return above[b.length] ?? 0;
}

test("the distance is Levenshtein's up to the requested maximum", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 12 });
  fc.assert(
    fc.property(text, text, fc.integer({ min: 0, max: 3 }), (a, b, most) => {
      const whole = wholeTable(a, b);
      expect(distanceWithin(a, b, most)).toBe(whole <= most ? whole : null);
    }),
    { numRuns: 2000 },
  );
});

test("progress is reported as a share of the work", () => {
  const shares: number[] = [];
  Array.from(similarPairs(values("a", "bb", "ccc", "dddd"), 1, (share) => shares.push(share)));
  expect(shares).toEqual([0, 0.25, 0.5, 0.75]);
});
