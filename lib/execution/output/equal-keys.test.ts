import { expect, test } from "vitest";
import { cleanAnswer } from "@/lib/api/remote/clean";
import { expectLinear } from "@/lib/testing/measure/growth";
import { equalKey } from "@/lib/testing/rows/equal-keys";
import { cleanContext, cleanResult } from "./clean-result";
import { secretForms } from "./secret-forms";

const none = secretForms([]);
const SECRETS = ["hunter2", "opensesame"];

test("keys that become equal by cleaning keep all values, and other keys keep their names", () => {
  const value = { "a\ud800": 1, "a\ud801": 2, "a\u0000": 3, "a\ufffd (2)": 4, "a\ufffd": 5, b: { c: 6 } };
  expect(cleanResult(value, none)).toEqual({
    "a\ufffd": 1,
    "a\ufffd (3)": 2,
    "a\ufffd (4)": 3,
    "a\ufffd (2)": 4,
    "a\ufffd (5)": 5,
    b: { c: 6 },
  });
  expect(cleanResult({ hunter2: 1, opensesame: 2 }, secretForms(SECRETS))).toEqual({
    "[redacted]": 1,
    "[redacted] (2)": 2,
  });
});

/** Keys that are stored as the same text, in any number. */
const ALIKE: readonly (readonly [what: string, key: (n: number) => string])[] = [
  ["lone surrogates", equalKey],
  ["lone surrogates and NUL", (n) => `${equalKey(n)}\0`],
  ["lone surrogates behind a text", (n) => `€€${equalKey(n)}`],
];
type Keyed = Record<string, unknown>;
const CLEANERS: readonly (readonly [name: string, clean: (value: Keyed) => unknown])[] = [
  ["cleanContext", (value) => cleanContext(value as never, none, new Set()).cleaned],
  ["cleanAnswer", (value) => cleanAnswer(value, () => {})],
];
const MOST_KEYS = 4000;
const CHARACTERS_OF_KEY = 16;

const zeros = (keys: readonly string[]): Record<string, number> => Object.fromEntries(keys.map((key) => [key, 0]));

/** Equal keys, after or before keys that have the very names that cleaning gives them. */
function contested(count: number, key: (n: number) => string): string[][] {
  const alike = Array.from({ length: count / 2 }, (_, n) => key(n));
  const others = Array.from({ length: count / 2 }, (_, n) => `other ${n}`);
  const namesGiven = (before: readonly string[]) => {
    const names = Object.keys(cleanResult(zeros([...before, ...alike]), none) as object);
    // No key was omitted because of the result's size.
    expect(names).toHaveLength(before.length + alike.length);
    return names.slice(before.length);
  };
  const [alone, behind] = [namesGiven([]), namesGiven(others)];
  return [alone, behind].flatMap((taken) => [
    [...taken, ...alike],
    [...alike, ...taken],
  ]);
}

const CASES = [
  ...ALIKE.map(([what, key]) => ({
    what,
    key,
    name: "cleanResult",
    clean: (value: Keyed) => cleanResult(value, none),
  })),
  ...CLEANERS.map(([name, clean]) => ({ what: "lone surrogates", key: equalKey, name, clean })),
];

test.each(CASES)("$name: the cost of keys that become equal ($what) grows no faster than their number", (row) => {
  const { what, key, clean } = row;
  for (const which of [0, 1, 2, 3])
    expectLinear(
      what,
      (characters) => JSON.stringify(zeros(contested(characters / CHARACTERS_OF_KEY, key)[which] ?? [])),
      { read: (text) => clean(JSON.parse(text) as Keyed), largest: MOST_KEYS * CHARACTERS_OF_KEY },
    );
});
