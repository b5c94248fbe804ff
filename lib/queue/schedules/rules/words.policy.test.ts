import { expect, test } from "vitest";
import {
  describeSchedule,
  INTERVAL_BOUNDS,
  previewSchedule,
  readSchedule,
  zoneProblems,
} from "@/lib/queue/schedules/rules";
import { cron, refusal, ruleOf } from "./rules.fixture";

const AT = new Date("2026-03-01T09:00:00Z");

test.each([
  ["* * * * *", "Every minute"],
  ["*/15 * * * *", "Every 15 minutes"],
  ["*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"],
  ["0 * * * *", "Every hour, on the hour"],
  ["1 * * * *", "Every hour, at 1 minute past"],
  ["0 */2 * * *", "Every 2 hours, from 00:00"],
  ["15 */4 * * *", "At 00:15, 04:15, 08:15, 12:15, 16:15 and 20:15 every day"],
  ["0 2 * * *", "At 02:00 every day"],
  ["0 9,17 * * 1-5", "At 09:00 and 17:00 on Monday to Friday"],
  ["*/5 8-18 * * MON-FRI", "Every 5 minutes of the hours 8 to 18 on Monday to Friday"],
  ["* 9 * * *", "Every minute of the hour 09"],
  ["30 6 * * 7", "At 06:30 on Sunday"],
  ["30 6 * * 5-7", "At 06:30 on Friday to Sunday"],
  ["0 0 1 * *", "At 00:00 on the 1st of every month"],
  ["0 0 1,2,3,22,L * *", "At 00:00 on the 1st to 3rd, 22nd and last day of every month"],
  ["0 0 1 1,7 *", "At 00:00 on the 1st of January and July"],
  ["0 0 * 6-8 *", "At 00:00 every day in June to August"],
  ["0 0 13 * 5", "At 00:00 on the 13th of the month, or on Friday"],
  ["0 0 1-31 * 5", "At 00:00 every day"],
  ["0 9 * * 1#1,5L", "At 09:00 on the 1st Monday of the month and the last Friday of the month"],
  ["@weekly", "At 00:00 on Sunday"],
])("the expression %s is described as %s", (expr, words) => {
  expect(describeSchedule(cron(expr, "Europe/Berlin"))).toBe(`${words} (Europe/Berlin)`);
});

test("intervals and single instants are described in words", () => {
  const interval = (intervalMs: number) =>
    describeSchedule(
      ruleOf({ schedule_type: "interval", interval_ms: intervalMs, anchor_at: AT.toISOString(), timezone: "Europe/Berlin" }),
    );
  const from = "counted from 2026-03-01 10:00 (Europe/Berlin)";
  expect(interval(3_600_000)).toBe(`Every hour, ${from}`);
  expect(interval(5_400_000)).toBe(`Every 1 hour 30 minutes, ${from}`);
  expect(interval(172_800_000)).toBe(`Every 2 days, ${from}`);
  expect(interval(1500)).toBe(`Every 1 second 500 milliseconds, ${from}`);
  expect(describeSchedule(ruleOf({ schedule_type: "once", once_at: AT.toISOString() }))).toBe("Once, at 2026-03-01 09:00 (UTC)");
});

test("a preview has the description, the instants in both zones, and marks clock changes", () => {
  expect(
    previewSchedule({
      rule: cron("30 2 * * *", "America/New_York"),
      after: new Date("2026-03-07T12:00:00Z"),
      count: 2,
    }),
  ).toEqual({
    description: "At 02:30 every day (America/New_York)",
    occurrences: [
      {
        at: new Date("2026-03-08T07:00:00Z"),
        local: "2026-03-08T03:00:00-04:00",
        note: "02:30 does not exist on 2026-03-08: clocks go forward, so it runs right after",
      },
      { at: new Date("2026-03-09T06:30:00Z"), local: "2026-03-09T02:30:00-04:00", note: null },
    ],
    warnings: [],
  });
});

test("a preview warns about a schedule that never occurs or occurs more than once a minute", () => {
  const warnings = (request: Omit<Parameters<typeof previewSchedule>[0], "after" | "count">, count = 10) =>
    previewSchedule({ after: AT, count, ...request }).warnings;
  expect(warnings({ rule: cron("* * * * *") })).toEqual([]);
  expect(warnings({ rule: cron("0 0 1 1 *"), expiresAt: new Date("2026-12-31T00:00:00Z") })).toEqual(["never"]);
  expect(warnings({ rule: cron("0 0 1 1 *"), expiresAt: new Date("2027-01-01T00:00:00Z") })).toEqual(["never"]);
  expect(warnings({ rule: cron("0 0 1 1 *"), expiresAt: new Date("2027-01-01T00:00:01Z") })).toEqual([]);
  expect(warnings({ rule: ruleOf({ schedule_type: "once", once_at: AT.toISOString() }) })).toEqual(["never"]);
  expect(warnings({ rule: cron("* * * * *"), runsLeft: 0 })).toEqual(["never"]);
  const seconds = (intervalMs: number) => ruleOf({ schedule_type: "interval", interval_ms: intervalMs, anchor_at: AT.toISOString() });
  expect(warnings({ rule: seconds(59_999) }, 1)).toEqual(["too_often"]);
  expect(warnings({ rule: seconds(60_000) })).toEqual([]);
  expect(warnings({ rule: seconds(1000), runsLeft: 1 })).toEqual([]);
});

test("an interval counts from its anchor, at any time", () => {
  const rule = ruleOf({ schedule_type: "interval", interval_ms: 5_400_000, anchor_at: AT.toISOString() });
  const first = (after: string) =>
    previewSchedule({ rule, after: new Date(after), count: 1 }).occurrences[0]?.at.toISOString();
  expect(first("2020-01-01T00:00:00Z")).toBe("2026-03-01T09:00:00.000Z");
  expect(first("2026-03-01T09:00:00Z")).toBe("2026-03-01T10:30:00.000Z");
  expect(first("2026-03-01T10:29:59.999Z")).toBe("2026-03-01T10:30:00.000Z");
  expect(first("2026-03-29T01:00:00Z")).toBe("2026-03-29T01:30:00.000Z");
});

test("intervals have bounds, instants lie between 1970 and 9999", () => {
  const interval = (intervalMs: number) =>
    refusal({ schedule_type: "interval", interval_ms: intervalMs, anchor_at: AT.toISOString() });
  for (const value of [
    0,
    -1,
    1.5,
    INTERVAL_BOUNDS.leastMs - 1,
    INTERVAL_BOUNDS.mostMs + 1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ]) {
    expect(interval(value), String(value)).toMatchObject({ pointer: "/interval_ms", code: "range" });
  }
  expect(refusal({ schedule_type: "once", once_at: new Date(-1).toISOString() })).toMatchObject({
    pointer: "/once_at",
    code: "range",
  });
  expect(refusal({ schedule_type: "once", once_at: "tomorrow" })).toMatchObject({ code: "range" });
});

test("each type of schedule requires its own fields and refuses those of another type", () => {
  const pointers = (fields: Parameters<typeof readSchedule>[0]) =>
    readSchedule(fields).problems?.map(({ pointer, code }) => `${pointer} ${code}`);
  expect(pointers({})).toEqual(["/timezone required", "/cron_expr required"]);
  expect(pointers({ schedule_type: "interval", timezone: "UTC" })).toEqual([
    "/interval_ms range",
    "/anchor_at required",
  ]);
  expect(pointers({ schedule_type: "once", timezone: "UTC" })).toEqual(["/once_at required"]);
  expect(pointers({ schedule_type: "yearly", timezone: "UTC" })).toEqual(["/schedule_type unknown"]);
  expect(pointers({ schedule_type: "toString", timezone: "UTC" })).toEqual(["/schedule_type unknown"]);
  expect(
    pointers({ schedule_type: "once", once_at: AT.toISOString(), timezone: "UTC", cron_expr: "* * * * *", dst_policy: { gap: "skip" } }),
  ).toEqual([...["/cron_expr other-type", "/dst_policy/gap other-type"]]);
  expect(pointers({ cron_expr: "* * * * *", timezone: "UTC", dst_policy: { gap: "run", overlap: "second" } })).toEqual([
    ...["/dst_policy/gap unknown", "/dst_policy/overlap unknown"],
  ]);
  expect(pointers({ cron_expr: "60 * * * *", timezone: "Mars/Base", interval_ms: 1000 })).toEqual([
    ...["/interval_ms other-type", "/timezone unknown", "/cron_expr cron-range"],
  ]);
  expect(zoneProblems("Europe/Berlin")).toEqual([]);
});
