import { describe, expect, test } from "vitest";
import { countInstants, nextInstant, nextInstants } from "@/lib/queue/schedules/rules";
import type { ScheduleRule } from "@/lib/queue/types";
import { cron, instants } from "./rules.fixture";

const NEW_YORK = "America/New_York";

/**
 * Queries the rule like a scheduler: from one reading of the clock to the next, never from the last run
 * plus a difference.
 */
function ticks(rule: ScheduleRule, from: string, until: string, stepMinutes: number): string[] {
  const fired: string[] = [];
  const end = Date.parse(until);
  for (let now = Date.parse(from); now < end; now += stepMinutes * 60_000) {
    fired.push(...instants(rule, new Date(now).toISOString(), 100, new Date(now + stepMinutes * 60_000).toISOString()));
  }
  return fired;
}

const noteOf = (rule: ScheduleRule, after: string): string | null | undefined =>
  nextInstant(rule, new Date(after))?.note;

describe("a local time that does not exist", () => {
  test("CRON-01 a daily run at 02:30 comes once in the night without it, right after the gap, with a note", () => {
    const rule = cron("30 2 * * *", NEW_YORK);
    expect(ticks(rule, "2026-03-08T06:00:00Z", "2026-03-08T12:00:00Z", 1)).toEqual(["2026-03-08T07:00Z"]);
    expect(instants(rule, "2026-03-07T12:00:00Z", 3)).toEqual([
      "2026-03-08T07:00Z",
      "2026-03-09T06:30Z",
      "2026-03-10T06:30Z",
    ]);
    expect(nextInstant(rule, new Date("2026-03-08T06:00:00Z"))).toEqual({
      at: new Date("2026-03-08T07:00:00Z"),
      local: "2026-03-08T03:00:00-04:00",
      note: "02:30 does not exist on 2026-03-08: clocks go forward, so it runs right after",
    });
    expect(noteOf(rule, "2026-03-08T07:00:00Z")).toBeNull();
  });

  test("dst_gap skip omits it, with a note", () => {
    const rule = cron("30 2 * * *", NEW_YORK, { dst_policy: { gap: "skip" } });
    expect(instants(rule, "2026-03-07T12:00:00Z", 2)).toEqual(["2026-03-09T06:30Z", "2026-03-10T06:30Z"]);
    expect(noteOf(rule, "2026-03-07T12:00:00Z")).toBe(
      "02:30 does not exist on 2026-03-08: clocks go forward, so this run is skipped",
    );
    expect(noteOf(rule, "2026-03-09T06:30:00Z")).toBeNull();
  });

  test("several times in one gap, and one right after it, are one run", () => {
    expect(instants(cron("0,30 2 * * *", NEW_YORK), "2026-03-08T05:00:00Z", 2)).toEqual([
      "2026-03-08T07:00Z",
      "2026-03-09T06:00Z",
    ]);
    const rule = cron("0 2,3 * * *", NEW_YORK);
    expect(instants(rule, "2026-03-08T05:00:00Z", 2)).toEqual(["2026-03-08T07:00Z", "2026-03-09T06:00Z"]);
    expect(countInstants(rule, new Date("2026-03-08T05:00:00Z"), new Date("2026-03-09T05:00:00Z"))).toBe(1);
  });

  test("CRON-08 Troll's gap of two hours gives one run, and the next day is normal", () => {
    expect(ticks(cron("30 1,2 * * *", "Antarctica/Troll"), "2026-03-28T12:00:00Z", "2026-03-31T00:00:00Z", 7)).toEqual([
      ...["2026-03-29T01:00Z", "2026-03-29T23:30Z", "2026-03-30T00:30Z", "2026-03-30T23:30Z"],
    ]);
  });

  test("CRON-08 a date that a place skipped does not occur: Apia had no 30 December 2011", () => {
    expect(instants(cron("0 9 30 12 *", "Pacific/Apia"), "2011-01-01T00:00:00Z", 1)).toEqual(["2012-12-29T19:00Z"]);
    expect(instants(cron("0 9 * * *", "Pacific/Apia"), "2011-12-29T00:00:00Z", 3)).toEqual([
      ...["2011-12-29T19:00Z", "2011-12-30T19:00Z", "2011-12-31T19:00Z"],
    ]);
    expect(instants(cron("0 * * * *", "Pacific/Apia"), "2011-12-30T08:30:00Z", 3)).toEqual([
      ...["2011-12-30T09:00Z", "2011-12-30T10:00Z", "2011-12-30T11:00Z"],
    ]);
  });

  test("CRON-15 Chatham's gap, from 02:45 to 03:45, gives 03:00 once at its end", () => {
    expect(instants(cron("0 3 * * *", "Pacific/Chatham"), "2026-09-26T12:00:00Z", 2)).toEqual([
      "2026-09-26T14:00Z",
      "2026-09-27T13:15Z",
    ]);
  });
});

describe("a local time that occurs twice", () => {
  test("a daily run at 01:30 comes at the first occurrence", () => {
    const rule = cron("30 1 * * *", "America/Chicago");
    expect(instants(rule, "2026-10-31T12:00:00Z", 2)).toEqual(["2026-11-01T06:30Z", "2026-11-02T07:30Z"]);
    expect(noteOf(rule, "2026-10-31T12:00:00Z")).toBe("01:30 comes twice on 2026-11-01: the first one");
    // Saved between the two readings: the first has passed, and the second is not used.
    expect(instants(rule, "2026-11-01T06:45:00Z", 1)).toEqual(["2026-11-02T07:30Z"]);
  });

  test("dst_overlap both runs at each occurrence", () => {
    const rule = cron("30 1 * * *", "America/Chicago", { dst_policy: { overlap: "both" } });
    expect(instants(rule, "2026-10-31T12:00:00Z", 3)).toEqual([
      "2026-11-01T06:30Z",
      "2026-11-01T07:30Z",
      "2026-11-02T07:30Z",
    ]);
    expect(noteOf(rule, "2026-11-01T06:30:00Z")).toBe("01:30 comes twice on 2026-11-01: the second one");
  });

  test("CRON-11 a repeated midnight gives one run for the date and none at 23:00 the day before", () => {
    expect(ticks(cron("0 0 * * *", "America/Santiago"), "2026-04-04T12:00:00Z", "2026-04-06T12:00:00Z", 5)).toEqual([
      ...["2026-04-05T04:00Z", "2026-04-06T04:00Z"],
    ]);
    expect(instants(cron("30 23 * * *", "America/Santiago"), "2026-04-04T12:00:00Z", 2)).toEqual([
      "2026-04-05T02:30Z",
      "2026-04-06T03:30Z",
    ]);
  });
});

describe("an hour field that starts with * keeps its elapsed interval", () => {
  test("CRON-05 an hourly run comes 25 times on the long day and 23 times on the short one", () => {
    const rule = cron("0 * * * *", "America/Chicago");
    expect(instants(rule, "2026-11-01T06:00:00Z", 1)).toEqual(["2026-11-01T07:00Z"]);
    const inDay = (from: string, until: string): number =>
      countInstants(rule, new Date(Date.parse(from) - 1), new Date(Date.parse(until) - 1));
    expect(inDay("2026-11-01T05:00:00Z", "2026-11-02T06:00:00Z")).toBe(25);
    expect(inDay("2026-03-08T06:00:00Z", "2026-03-09T05:00:00Z")).toBe(23);
  });

  test("dst_overlap first and dst_gap run_after change it if a trigger sets them", () => {
    const first = cron("0 * * * *", "America/Chicago", { dst_policy: { overlap: "first" } });
    expect(instants(first, "2026-11-01T05:30:00Z", 2)).toEqual(["2026-11-01T06:00Z", "2026-11-01T08:00Z"]);
    const after = cron("30 */2 * * *", NEW_YORK, { dst_policy: { gap: "run_after" } });
    expect(instants(after, "2026-03-08T05:45:00Z", 2)).toEqual(["2026-03-08T07:00Z", "2026-03-08T08:30Z"]);
    expect(instants(cron("30 */2 * * *", NEW_YORK), "2026-03-08T05:45:00Z", 1)).toEqual(["2026-03-08T08:30Z"]);
  });

  test("a list of all hours means fixed times", () => {
    const listed = cron("0 0-23 * * *", "America/Chicago");
    expect(instants(listed, "2026-11-01T05:30:00Z", 2)).toEqual(["2026-11-01T06:00Z", "2026-11-01T08:00Z"]);
  });
});

describe("the days after a clock change", () => {
  test.each([
    ["autumn", "2026-10-24T12:00:00Z", ["2026-10-25T11:00Z", "2026-10-26T11:00Z"]],
    ["spring", "2026-03-28T12:00:00Z", ["2026-03-29T10:00Z", "2026-03-30T10:00Z"]],
  ])("CRON-03 noon stays noon in %s, and every minute continues", (_season, from, noons) => {
    const until = new Date(Date.parse(from) + 2 * 86_400_000).toISOString();
    expect(ticks(cron("0 12 * * *", "Europe/Paris"), from, until, 11)).toEqual(noons);
    const minutes = ticks(cron("* * * * *", "Europe/Paris"), from, until, 60);
    expect(minutes).toHaveLength(2880);
    expect(new Set(minutes).size).toBe(2880);
  });

  test("CRON-10 a day of 23 hours skips neither the next midnight nor a Sunday", () => {
    expect(instants(cron("0 0 * * *", "Europe/Warsaw"), "2026-03-28T23:45:00Z", 1)).toEqual(["2026-03-29T22:00Z"]);
    expect(instants(cron("0 12 * * 0", "Europe/Berlin"), "2026-03-26T11:00:00Z", 2)).toEqual([
      "2026-03-29T10:00Z",
      "2026-04-05T10:00Z",
    ]);
  });

  test("CRON-13 the instants do not depend on the day a schedule is saved", () => {
    expect(instants(cron("15 2 * * *", "Europe/Oslo"), "2026-10-22T10:00:00Z", 4)).toEqual([
      ...["2026-10-23T00:15Z", "2026-10-24T00:15Z", "2026-10-25T00:15Z", "2026-10-26T01:15Z"],
    ]);
    expect(instants(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T10:00:00Z", 2)).toEqual([
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ]);
  });
});

test("CRON-15 zones with offsets in quarter hours: Kathmandu, Chatham, Lord Howe", () => {
  expect(instants(cron("0 * * * *", "Asia/Kathmandu"), "2026-01-01T00:00:00Z", 2)).toEqual([
    "2026-01-01T00:15Z",
    "2026-01-01T01:15Z",
  ]);
  expect(instants(cron("30 8 * * *", "Asia/Kathmandu"), "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-01T02:45Z"]);
  expect(instants(cron("0 * * * *", "Pacific/Chatham"), "2026-09-26T12:30:00Z", 3)).toEqual([
    ...["2026-09-26T13:15Z", "2026-09-26T14:15Z", "2026-09-26T15:15Z"],
  ]);
  // Half an hour is skipped, and half an hour is repeated.
  expect(instants(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T00:00:00Z", 2)).toEqual([
    "2026-10-03T15:30Z",
    "2026-10-04T15:15Z",
  ]);
  expect(instants(cron("45 1 * * *", "Australia/Lord_Howe"), "2026-04-04T00:00:00Z", 2)).toEqual([
    "2026-04-04T14:45Z",
    "2026-04-05T15:15Z",
  ]);
});

test("CRON-31 midnight is 00:00 in every zone", () => {
  for (const zone of ["UTC", "Europe/London", "Asia/Tokyo", NEW_YORK, "Australia/Adelaide", "America/Sao_Paulo"]) {
    for (const [expr, clock] of [
      ["0 0 * * *", "00:00:00"],
      ["30 0 * * *", "00:30:00"],
    ] as const) {
      const locals = nextInstants(cron(expr, zone), new Date("2026-06-15T18:00:00Z"), 30).map(({ local }) => local);
      expect(
        locals.map((local) => local.slice(11, 19)),
        zone,
      ).toEqual(locals.map(() => clock));
      expect(new Set(locals.map((local) => local.slice(0, 10))).size, zone).toBe(30);
    }
  }
});
