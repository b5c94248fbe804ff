import { describe, expect, test } from "vitest";
import { formatAge, formatBytes, formatCount, formatDuration, formatRelative, formatUtc } from "./format";

describe("times and sizes as people read them", () => {
  test.each([
    [-5, "0 ms"],
    [340, "340 ms"],
    [4260, "4.2 s"],
    [59_999, "59 s"],
    [63_000, "1m 03s"],
    [7_500_000, "2h 05m"],
    [273_600_000, "3d 04h"],
  ])("%d ms is shown as the duration %s", (milliseconds, shown) => expect(formatDuration(milliseconds)).toBe(shown));

  test.each([
    [0, "0 s"],
    [59.9, "59 s"],
    [720, "12 min"],
    [90_000, "25 h"],
    [432_000, "5 d"],
    [94_608_000, "3 y"],
  ])("%d seconds is shown as the age %s", (seconds, shown) => expect(formatAge(seconds)).toBe(shown));

  test("a time is relative to now: before, after or equal", () => {
    expect(formatRelative(0, 4000)).toBe("4 s ago");
    expect(formatRelative(120_000, 0)).toBe("in 2 min");
    expect(formatRelative(999, 0)).toBe("now");
  });

  test("UTC output is the same in every zone, and invalid input is unchanged", () => {
    expect(formatUtc("2026-11-08T02:03:04.567Z")).toBe("8 Nov 2026, 02:03:04 UTC");
    expect(formatUtc("soon")).toBe("soon");
  });

  test("sizes and counts are formatted", () => {
    expect([0, 1023, 1536, 734_003_200].map(formatBytes)).toEqual(["0 B", "1023 B", "1.5 KiB", "700 MiB"]);
    expect([0, 999, 1000, 1_234_567].map(formatCount)).toEqual(["0", "999", "1,000", "1,234,567"]);
  });
});
