import { expect, test } from "vitest";
import { answerTypes, valueTypes } from "./value-types";

const TIMESTAMPTZ = 1184;
const read = valueTypes.getTypeParser(TIMESTAMPTZ, "text") as (text: string) => unknown;

test("a timestamp is parsed once, and each reader gets its own Date", () => {
  const first = read("2026-11-28 12:00:00.123+00") as Date;
  first.setTime(0);
  const second = read("2026-11-28 12:00:00.123+00");
  expect(second).toEqual(new Date("2026-11-28T12:00:00.123Z"));
  expect(read("2026-11-28 12:00:00.124+00")).toEqual(new Date("2026-11-28T12:00:00.124Z"));
  expect(read("2026-11-28 12:00:00.123+00")).toEqual(new Date("2026-11-28T12:00:00.123Z"));
  expect(read("infinity")).toBe(Number.POSITIVE_INFINITY);
});

test("an answer has instants as RFC 3339 text in UTC with milliseconds", () => {
  const answer = answerTypes.getTypeParser(TIMESTAMPTZ, "text") as (text: string) => unknown;
  expect(answer("2026-11-28 12:00:00.123456+00")).toBe("2026-11-28T12:00:00.123Z");
  expect(answer("2026-11-28 12:00:00+00")).toBe("2026-11-28T12:00:00.000Z");
  expect(answer("infinity")).toBe(Number.POSITIVE_INFINITY);
});
