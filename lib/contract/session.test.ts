import { expect, test } from "vitest";
import { passwordChange } from "./session";

const fits = (text: string) => passwordChange.safeParse({ current_password: "x", new_password: text }).success;

test("PW-1 a new password has 12 to 256 characters in the form that is hashed", () => {
  expect([fits("a".repeat(11)), fits("a".repeat(12)), fits("a".repeat(256)), fits("a".repeat(257))]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([fits("😀".repeat(6)), fits("😀".repeat(12)), fits("😀".repeat(256))]).toEqual([false, true, true]);
  expect([fits("ﬃ".repeat(4)), fits("ﷺ".repeat(100))]).toEqual([true, false]);
});
