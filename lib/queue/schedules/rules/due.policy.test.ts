import { describe, expect, test } from "vitest";
import {
  CATCH_UP_SPREAD_MS,
  clampDelay,
  decideDue,
  instantChance,
  newestInstants,
  nextInstant,
  ON_TIME_MS,
} from "@/lib/queue/schedules/rules";
import type { DueDecision, DueRequest } from "@/lib/queue/types";
import { cron, ruleOf } from "./rules.fixture";

const MINUTELY = cron("* * * * *");
const DAY_MS = 86_400_000;

const request = (nextRunAt: string, now: string, more: Partial<DueRequest> = {}): DueRequest => ({
  rule: MINUTELY,
  nextRunAt: new Date(nextRunAt),
  followingRunAt: null,
  now: new Date(now),
  catchUp: "last",
  catchUpLimit: 10,
  jitterSeconds: 0,
  maxRuns: null,
  runCount: 0,
  expiresAt: null,
  random: () => 0,
  ...more,
});

const short = (date: Date | null | undefined): string | undefined => date?.toISOString().slice(0, 19).replace("T", " ");
const fired = ({ fire }: DueDecision) => fire.map(({ at, isCatchUp }) => `${short(at)}${isCatchUp ? " made up" : ""}`);

/** Asserts that every instant is either fired or skipped, once, and none is left for later. */
function accounted({ fire, skipped }: DueDecision): number {
  return fire.length + skipped.reduce((sum, { n }) => sum + n, 0);
}

describe("a due instant", () => {
  test("fires, and the stored following instant becomes the next", () => {
    const rule = cron("0 9 * * *");
    const due = decideDue(
      request("2026-03-01T09:00:00Z", "2026-03-01T09:00:00.3Z", {
        rule,
        followingRunAt: new Date("2026-03-02T09:00:00Z"),
      }),
    );
    expect(due).toEqual({
      fire: [
        {
          at: new Date("2026-03-01T09:00:00Z"),
          local: "2026-03-01T09:00:00+00:00",
          note: null,
          isCatchUp: false,
          startAt: new Date("2026-03-01T09:00:00Z"),
        },
      ],
      skipped: [],
      nextRunAt: new Date("2026-03-02T09:00:00Z"),
      followingRunAt: new Date("2026-03-03T09:00:00Z"),
      finished: null,
    });
  });

  test("has the note about the clock change that moved it", () => {
    const rule = cron("30 2 * * *", "America/New_York");
    const { fire } = decideDue(request("2026-03-08T07:00:00Z", "2026-03-08T07:00:01Z", { rule }));
    expect(fire[0]?.note).toContain("02:30 does not exist on 2026-03-08");
  });

  test("does not fire early", () => {
    const early = decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T08:59:59.999Z"));
    expect([early.fire, early.skipped, short(early.nextRunAt), short(early.followingRunAt)]).toEqual([
      ...[[], [], "2026-03-01 09:00:00", "2026-03-01 09:01:00"],
    ]);
    const none = decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T09:00:00Z", { nextRunAt: null }));
    expect([none.fire, none.nextRunAt, none.finished]).toEqual([[], null, "over"]);
  });

  test("is on time up to a minute late, with any catch-up policy", () => {
    const rule = cron("0 9 * * *");
    for (const catchUp of ["skip", "last", "all"] as const) {
      const at = (late: number) => new Date(Date.parse("2026-03-01T09:00:00Z") + late).toISOString();
      const onTime = decideDue(request("2026-03-01T09:00:00Z", at(ON_TIME_MS), { rule, catchUp }));
      expect(fired(onTime), catchUp).toEqual(["2026-03-01 09:00:00"]);
      const late = decideDue(request("2026-03-01T09:00:00Z", at(ON_TIME_MS + 1), { rule, catchUp }));
      expect(fired(late), catchUp).toEqual(catchUp === "skip" ? [] : ["2026-03-01 09:00:00 made up"]);
      expect(accounted(late), catchUp).toBe(1);
    }
  });
});

describe("SCHED-01 after three hours without a scheduler, a minutely trigger", () => {
  const outage = (more: Partial<DueRequest>) =>
    decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T12:00:10Z", more));

  test("last: runs once, for the newest instant", () => {
    const due = outage({ catchUp: "last" });
    expect(fired(due)).toEqual(["2026-03-01 12:00:00 made up"]);
    expect(due.skipped).toHaveLength(180);
    expect(due.skipped[0]).toEqual({ at: new Date("2026-03-01T09:00:00Z"), until: null, n: 1, reason: "catch_up" });
    expect([short(due.nextRunAt), short(due.followingRunAt)]).toEqual(["2026-03-01 12:01:00", "2026-03-01 12:02:00"]);
  });

  test("skip: runs the instant that is due now, and lists the skipped ones", () => {
    const due = outage({ catchUp: "skip" });
    expect(fired(due)).toEqual(["2026-03-01 12:00:00"]);
    expect(accounted(due)).toBe(181);
  });

  test("all: catches up on the newest ones up to its limit, spread out, oldest first", () => {
    const due = outage({ catchUp: "all", catchUpLimit: 3 });
    expect(fired(due)).toEqual([
      ...[
        "2026-03-01 11:57:00 made up",
        "2026-03-01 11:58:00 made up",
        "2026-03-01 11:59:00 made up",
        "2026-03-01 12:00:00",
      ],
    ]);
    const now = Date.parse("2026-03-01T12:00:10Z");
    expect(due.fire.slice(0, 3).map(({ startAt }) => startAt.getTime() - now)).toEqual([
      0,
      CATCH_UP_SPREAD_MS,
      2 * CATCH_UP_SPREAD_MS,
    ]);
    expect(short(due.fire[3]?.startAt)).toBe("2026-03-01 12:00:00");
    expect(accounted(due)).toBe(181);
  });
});

test("SCHED-03 a weekly run missed by 45 minutes is caught up on, or skipped with a reason", () => {
  const weekly = { rule: cron("0 6 * * 1") };
  const made = decideDue(request("2026-03-02T06:00:00Z", "2026-03-02T06:30:00Z", weekly));
  expect(fired(made)).toEqual(["2026-03-02 06:00:00 made up"]);
  expect(short(made.nextRunAt)).toBe("2026-03-09 06:00:00");
  const skipped = decideDue(request("2026-03-02T06:00:00Z", "2026-03-02T06:30:00Z", { ...weekly, catchUp: "skip" }));
  expect(skipped.fire).toEqual([]);
  expect(skipped.skipped).toEqual([{ at: new Date("2026-03-02T06:00:00Z"), until: null, n: 1, reason: "catch_up" }]);
});

describe("the end of a schedule", () => {
  test("max_runs: runs what is left of it, and reports that it is used up", () => {
    const due = decideDue(
      request("2026-03-01T09:00:00Z", "2026-03-01T09:05:00Z", { catchUp: "all", maxRuns: 5, runCount: 3 }),
    );
    expect(fired(due)).toEqual(["2026-03-01 09:00:00 made up", "2026-03-01 09:01:00 made up"]);
    expect(due.skipped.map(({ reason }) => reason)).toEqual(Array(4).fill("max_runs"));
    expect(due.finished).toBe("max_runs");
    const over = decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T09:00:01Z", { maxRuns: 5, runCount: 5 }));
    expect([over.fire, over.skipped.map(({ reason }) => reason), over.finished]).toEqual([
      [],
      ["max_runs"],
      "max_runs",
    ]);
  });

  test("expires_at: no instant after it is due, and none before it is caught up on", () => {
    const expiresAt = new Date("2026-03-01T09:02:00Z");
    const onTime = decideDue(request("2026-03-01T09:01:00Z", "2026-03-01T09:01:05Z", { expiresAt }));
    expect([fired(onTime), onTime.nextRunAt, onTime.finished]).toEqual([["2026-03-01 09:01:00"], null, "expired"]);
    const late = decideDue(request("2026-03-01T08:58:00Z", "2026-03-01T10:00:00Z", { expiresAt }));
    expect(late.fire).toEqual([]);
    expect(late.skipped.map(({ at, reason }) => `${short(at)?.slice(11)} ${reason}`)).toEqual([
      ...["08:58:00 expired", "08:59:00 expired", "09:00:00 expired", "09:01:00 expired"],
    ]);
    expect([late.nextRunAt, late.finished]).toEqual([null, "expired"]);
  });

  test("once: fires and ends", () => {
    const rule = ruleOf({ schedule_type: "once", once_at: "2026-03-01T09:00:00Z" });
    const due = decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T09:00:01Z", { rule }));
    expect([fired(due), due.nextRunAt, due.followingRunAt, due.finished]).toEqual([
      ["2026-03-01 09:00:00"],
      null,
      null,
      "over",
    ]);
  });
});

describe("a local time omitted by dst_gap skip", () => {
  const rule = cron("30 1,2 * * *", "America/New_York", { dst_policy: { gap: "skip" } });
  const skippedBy = (nextRunAt: string, now: string, since: string) =>
    decideDue(request(nextRunAt, now, { rule, since: new Date(since) })).skipped;
  const leftOut = {
    at: new Date("2026-03-08T07:00:00Z"),
    until: null,
    n: 1,
    reason: "dst_gap",
    note: "02:30 does not exist on 2026-03-08: clocks go forward, so this run is skipped",
  };

  test("is listed once, with the next instant", () => {
    const since = "2025-01-01T00:00:00Z";
    expect(skippedBy("2026-03-08T06:30:00Z", "2026-03-08T06:30:01Z", since)).toEqual([]);
    // A turn ran right after the change, but nothing is due yet.
    expect(skippedBy("2026-03-08T06:30:00Z", "2026-03-08T07:10:00Z", since)).toEqual([]);
    expect(skippedBy("2026-03-09T05:30:00Z", "2026-03-09T05:30:01Z", since)).toEqual([leftOut]);
    expect(skippedBy("2026-03-09T06:30:00Z", "2026-03-09T06:30:01Z", since)).toEqual([]);
  });

  test("is listed among the instants missed during an outage", () => {
    const skipped = skippedBy("2026-03-08T05:30:00Z", "2026-03-09T05:30:10Z", "2026-01-01T00:00:00Z");
    expect(skipped.map(({ at, reason }) => `${short(at)?.slice(5)} ${reason}`)).toEqual([
      ...["03-08 05:30:00 catch_up", "03-08 06:30:00 catch_up", "03-08 07:00:00 dst_gap"],
    ]);
  });

  test("is not listed for a trigger created or changed later", () => {
    expect(skippedBy("2026-03-09T05:30:00Z", "2026-03-09T05:30:01Z", "2026-03-08T12:00:00Z")).toEqual([]);
  });
});

describe("after any outage", () => {
  test.each([
    ["a minutely trigger, 50 years", MINUTELY, "1976-01-01T00:00:00Z"],
    ["one in New York, 50 years", cron("*/5 * * * *", "America/New_York"), "1976-01-01T05:00:00Z"],
    ["29 February, 50 years", cron("0 0 29 2 *"), "1976-02-29T00:00:00Z"],
    [
      "a second's interval, 50 years",
      ruleOf({ schedule_type: "interval", interval_ms: 1000, anchor_at: new Date(0).toISOString() }),
      "1976-01-01T00:00:00Z",
    ],
  ])("%s: the decision is small and quick, and accounts for every instant", (_name, rule, nextRunAt) => {
    const began = performance.now();
    const now = "2026-06-01T00:00:30Z";
    for (const catchUp of ["skip", "last", "all"] as const) {
      const due = decideDue(request(nextRunAt, now, { rule, catchUp, catchUpLimit: 5000 }));
      expect(due.skipped.length).toBeLessThanOrEqual(1001);
      expect(due.fire.length).toBeLessThanOrEqual(1001);
      const [range] = due.skipped;
      if (range && range.n > 1) {
        // The range ends right before the oldest instant that is listed.
        expect(range.at.toISOString()).toBe(new Date(nextRunAt).toISOString());
        const first = [...due.skipped.slice(1), ...due.fire][0]?.at;
        expect(nextInstant(rule, range.until ?? range.at)?.at).toEqual(first);
      }
      if (rule === MINUTELY)
        expect(accounted(due)).toBe((Date.parse("2026-06-01T00:00:00Z") - Date.parse(nextRunAt)) / 60_000 + 1);
      if (rule.type === "interval") expect(accounted(due)).toBe((Date.parse(now) - Date.parse(nextRunAt)) / 1000 + 1);
      expect(due.nextRunAt).toEqual(nextInstant(rule, new Date(now))?.at);
    }
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test("the newest instants equal the end of the full list", () => {
    const rule = cron("*/7 1-4 * * *", "Europe/Berlin");
    const span = { after: new Date("2026-03-27T00:00:00Z"), until: new Date("2026-03-31T12:00:00Z") };
    const all = newestInstants(rule, span, 10_000);
    expect(all.length).toBeGreaterThan(100);
    for (const most of [1, 2, 50, all.length - 1, all.length])
      expect(newestInstants(rule, span, most)).toEqual(all.slice(-most));
  });
});

test("jitter delays a start by its random share, less than the configured seconds", () => {
  const start = (chance: number) =>
    decideDue(request("2026-03-01T09:00:00Z", "2026-03-01T09:00:01Z", { jitterSeconds: 30, random: () => chance }))
      .fire[0]?.startAt;
  expect(start(0)).toEqual(new Date("2026-03-01T09:00:00Z"));
  expect(start(0.5)).toEqual(new Date("2026-03-01T09:00:15Z"));
  expect(start(1 - 2 ** -32)).toEqual(new Date("2026-03-01T09:00:29.999Z"));
});

test("the random share of an instant is the same for every caller, and spreads triggers and instants evenly", () => {
  const at = new Date("2026-03-01T09:00:00Z");
  expect(instantChance("a", at)).toBe(instantChance("a", new Date(at)));
  const chances = Array.from({ length: 10_000 }, (_, n) =>
    instantChance(`trigger-${n % 100}`, new Date(at.getTime() + Math.floor(n / 100) * DAY_MS)),
  );
  expect(Math.min(...chances)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...chances)).toBeLessThan(1);
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const share = chances.filter((chance) => Math.floor(chance * 10) === tenth).length;
    expect(share, `tenth ${tenth}`).toBeGreaterThan(800);
    expect(share, `tenth ${tenth}`).toBeLessThan(1200);
  }
});

test("SCHED-18 a delay longer than a timer can hold becomes the longest possible one, never zero", () => {
  expect(clampDelay(60 * DAY_MS)).toBe(2 ** 31 - 1);
  expect(clampDelay(Number.POSITIVE_INFINITY)).toBe(2 ** 31 - 1);
  expect(clampDelay(-5)).toBe(0);
  expect(clampDelay(1500)).toBe(1500);
});
