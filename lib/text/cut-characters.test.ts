import { expect, test } from "vitest";
import { cutCharacters } from "./cut-characters";

test.each([
  ["abc", 5, "abc"],
  ["abc", 2, "ab"],
  ["a🎉b", 2, "a🎉"],
  ["🎉🎉🎉", 2, "🎉🎉"],
  ["🎉", 1, "🎉"],
  ["", 1, ""],
  ["ab", 0, ""],
])("%j truncated to %i characters keeps surrogate pairs intact", (text, most, expected) => {
  expect(cutCharacters(text, most)).toBe(expected);
});
