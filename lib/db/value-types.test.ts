import { expect, test } from "vitest";
import { valueTypes } from "./value-types";

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
