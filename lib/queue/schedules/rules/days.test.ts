import { describe, expect, test } from "vitest";
import { nextInstant, previewSchedule } from "@/lib/queue/schedules/rules";
import { cron, instants, refusal } from "./rules.fixture";

/** The code and text of the problem with an expression, without the prefix. */
const fault = (expr: string): [string, string] => {
  const { pointer, code, detail } = refusal(expr);
  expect(pointer).toBe("/cron_expr");
  return [code, detail];
};

test("CRON-16 when both day fields are set, a day matches if either does", () => {
  const days = instants(cron("0 0 13 * 5"), "2025-12-31T23:59:00Z", 100, "2026-03-31T23:59:00Z");
  expect(days.map((day) => day.slice(5, 10))).toEqual([
    ...["01-02", "01-09", "01-13", "01-16", "01-23", "01-30"],
    ...["02-06", "02-13", "02-20", "02-27"],
    ...["03-06", "03-13", "03-20", "03-27"],
  ]);
  const { description } = previewSchedule({ rule: cron("0 0 13 * 5"), after: new Date(0), count: 1 });
  expect(description).toBe("At 00:00 on the 13th of the month, or on Friday (UTC)");
});

test("a day field of * leaves the choice to the other field; anything else counts as set", () => {
  const inJanuary = (expr: string): number =>
    instants(cron(expr), "2025-12-31T23:59:00Z", 100, "2026-01-31T23:59:00Z").length;
  expect(inJanuary("0 0 * * 5")).toBe(5);
  expect(inJanuary("0 0 13 * *")).toBe(1);
  expect(inJanuary("0 0 1-31 * 5")).toBe(31);
  expect(inJanuary("0 0 */2 * 5")).toBe(16 + 3); // The 9th and 23rd are already counted.
});

test("CRON-18 Sunday is 0, 7 and SUN, also at the end of a range, and fires once", () => {
  const sundays = ["2026-01-04T06:00Z", "2026-01-11T06:00Z", "2026-01-18T06:00Z"];
  for (const day of ["7", "0", "SUN", "sun", "0,7", "7,SUN"]) {
    expect(instants(cron(`0 6 * * ${day}`), "2026-01-01T00:00:00Z", 3), day).toEqual(sundays);
  }
  for (const days of ["5-7", "FRI-SUN", "5,6,0"]) {
    expect(instants(cron(`0 6 * * ${days}`), "2026-01-01T00:00:00Z", 4), days).toEqual([
      ...["2026-01-02T06:00Z", "2026-01-03T06:00Z", "2026-01-04T06:00Z", "2026-01-09T06:00Z"],
    ]);
  }
});

test("CRON-18 L is the last weekday of its kind or the last day of the month, and nothing else", () => {
  const last = ["2026-01-25T06:00Z", "2026-02-22T06:00Z", "2026-03-29T06:00Z"];
  for (const day of ["7L", "0L", "SUNL"])
    expect(instants(cron(`0 6 * * ${day}`), "2026-01-01T00:00:00Z", 3)).toEqual(last);
  expect(instants(cron("0 0 L * *"), "2028-01-15T00:00:00Z", 3)).toEqual([
    ...["2028-01-31T00:00Z", "2028-02-29T00:00Z", "2028-03-31T00:00Z"],
  ]);
  expect(instants(cron("0 0 15,L * *"), "2026-02-01T00:00:00Z", 2)).toEqual(["2026-02-15T00:00Z", "2026-02-28T00:00Z"]);
  for (const expr of [
    "0 6 * * L",
    "0 6 L-3 * *",
    "0 6 LW * *",
    "0 6 15W * *",
    "L 6 * * *",
    "0 6 * L *",
    "0 6 * * 8L",
  ]) {
    expect(["cron-unsupported", "cron-range", "cron-syntax"], expr).toContain(fault(expr)[0]);
  }
});

test("CRON-20 the fifth Monday skips months without one; a sixth is refused", () => {
  expect(instants(cron("0 9 * * 1#5"), "2026-01-01T00:00:00Z", 3)).toEqual([
    ...["2026-03-30T09:00Z", "2026-06-29T09:00Z", "2026-08-31T09:00Z"],
  ]);
  expect(instants(cron("0 9 * * MON#1,WED#3"), "2026-01-01T00:00:00Z", 3)).toEqual([
    ...["2026-01-05T09:00Z", "2026-01-21T09:00Z", "2026-02-02T09:00Z"],
  ]);
  for (const expr of ["0 9 * * 1#6", "0 9 * * 1#0"]) expect(fault(expr)[0], expr).toBe("cron-range");
  for (const expr of ["0 9 * * 1#", "0 9 1#2 * *", "0 9 * * #2", "0 9 * * 1-5#2"]) {
    expect(fault(expr)[0], expr).toBe("cron-unsupported");
  }
});

describe("CRON-21 a schedule that never occurs", () => {
  const IMPOSSIBLE = ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,9 *", "0 0 30,31 2 *", "* * 31 2,4,6,9,11 *"];

  test("is refused at once with that reason", () => {
    const began = performance.now();
    for (let round = 0; round < 20; round += 1) {
      for (const expr of IMPOSSIBLE)
        expect(fault(expr), expr).toEqual(["cron-never", expect.stringContaining("never")]);
    }
    // 100 expressions, each of which may take 100 ms.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("is refused by the search too, if a row contains it", () => {
    for (const expr of IMPOSSIBLE) {
      const rule = { type: "cron", expr, timezone: "UTC", gap: null, overlap: null } as const;
      expect(() => nextInstant(rule, new Date("2026-01-01T00:00:00Z"))).toThrow("never occurs");
    }
  });

  test("does not include schedules that occur rarely", () => {
    expect(instants(cron("0 0 31 2,5 *"), "2026-01-01T00:00:00Z", 1)).toEqual(["2026-05-31T00:00Z"]);
    expect(instants(cron("0 0 30 2 1"), "2026-01-01T00:00:00Z", 1)).toEqual(["2026-02-02T00:00Z"]);
    expect(instants(cron("0 9 * 2 1#5"), "2026-01-01T00:00:00Z", 3)).toEqual([
      ...["2044-02-29T09:00Z", "2072-02-29T09:00Z", "2112-02-29T09:00Z"],
    ]);
  });
});

test("CRON-23 29 February comes in leap years only, across 2100", () => {
  expect(instants(cron("0 2 29 2 *"), "2026-03-01T00:00:00Z", 1)).toEqual(["2028-02-29T02:00Z"]);
  expect(instants(cron("0 2 29 2 *"), "2096-03-01T00:00:00Z", 2)).toEqual(["2104-02-29T02:00Z", "2108-02-29T02:00Z"]);
  expect(instants(cron("0 2 29 2 *", "Europe/Berlin"), "2096-03-01T00:00:00Z", 1)).toEqual(["2104-02-29T01:00Z"]);
  // Either day field may match, but only in February.
  expect(instants(cron("0 0 29 2 0"), "2027-12-31T00:00:00Z", 5)).toEqual([
    ...["2028-02-06T00:00Z", "2028-02-13T00:00Z", "2028-02-20T00:00Z", "2028-02-27T00:00Z", "2028-02-29T00:00Z"],
  ]);
  expect(fault("0 0 29 2 * 2027")).toEqual(["cron-fields", expect.stringContaining("6 fields")]);
});
