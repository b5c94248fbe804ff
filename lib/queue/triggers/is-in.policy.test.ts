import { expect, test } from "vitest";
import { isIn } from "./is-in.policy";

const LIST = [1, "1", null, true, [], [1, [2]], {}, { a: { b: [1] }, c: 2 }, { d: null }];

test.each(LIST)("%j is found in a list by its value", (value) => {
  expect(isIn(JSON.parse(JSON.stringify(value)), LIST)).toBe(true);
});

test.each([2, "", false, [1], [1, [3]], [1, [2], 3], { a: { b: [1] } }, { a: { b: [2] }, c: 2 }, { a: 1, d: null }])(
  "%j is not found among similar values",
  (value) => {
    expect(isIn(value, LIST)).toBe(false);
  },
);

test("in an object only own property names are found", () => {
  const container = { a: null, "1": 2 };
  expect(["a", "1", 1].map((name) => isIn(name, container))).toEqual([true, true, true]);
  expect(["b", "toString", null, {}, ["a"]].map((name) => isIn(name, container))).toEqual(Array(5).fill(false));
  expect(() => isIn("a", "abc")).toThrow(TypeError);
});
