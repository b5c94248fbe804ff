import { expect, test } from "vitest";
import { expectLinear } from "@/lib/testing/measure/growth";
import { FreeNames } from "./free-names";

const numbered = (name: string, number: number): string => `${name} (${number})`;

function given(wanted: readonly string[], reserved: readonly string[] = []): string[] {
  const names = new FreeNames(numbered, new Set(reserved));
  return wanted.map((name) => names.take(name));
}

test("the second use of a name gets the first free number", () => {
  expect(given(["a", "a", "a", "a (2)", "b"])).toEqual(["a", "a (2)", "a (3)", "a (2) (2)", "b"]);
  expect(given(["a (2)", "a", "a"])).toEqual(["a (2)", "a", "a (3)"]);
});

test("a reserved name is left for its own request", () => {
  const wanted = ["a", "a", "a (2)"];
  expect(given(wanted, wanted)).toEqual(["a", "a (3)", "a (2)"]);
});

/** Half of the names ask for one name, the other half take the names it could become. */
const half = (characters: number): number => Math.floor(characters / 20);
const NAMES: readonly (readonly [what: string, make: (count: number) => string[]])[] = [
  ["one name", (count) => Array.from({ length: 2 * count }, () => "a")],
  ["one name whose numbers are taken", (count) => taking(count, (n) => [numbered("a", n)])],
  ["one name whose numbers are taken from their count on", (count) => taking(count, (n) => [numbered("a", n + count)])],
  ["one name of which every second number is taken", (count) => taking(count, (n) => [numbered("a", 2 * n)])],
  ["names that are numbers of each other", (count) => taking(count, (n) => ["a", numbered("a", n), "a (2)"])],
];
const taking = (count: number, taken: (n: number) => string[]): string[] => [
  ...Array.from({ length: count }, (_, n) => taken(n)).flat(),
  ...Array.from({ length: count }, () => "a"),
];

test.each(NAMES)("the cost of free names grows no faster than %s", (what, make) => {
  for (const reserves of [false, true])
    for (const order of [(names: string[]) => names, (names: string[]) => names.toReversed()])
      expectLinear(what, (characters) => JSON.stringify(order(make(half(characters)))), {
        read: (text) => {
          const names = JSON.parse(text) as string[];
          expect(new Set(given(names, reserves ? names : [])).size).toBe(names.length);
        },
        largest: 256 * 1024,
      });
});
