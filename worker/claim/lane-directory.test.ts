import { expect, test } from "vitest";
import type { KnownLane } from "@/lib/queue/testing";
import { LaneDirectory } from "./lane-directory";

const lane = (laneNo: number, tenantId = "a"): KnownLane => ({
  laneNo,
  tenantId,
  definitionId: "d",
  queueId: 1,
  band: 2,
  tenantWeight: 1,
  queueWeight: 1,
  limited: false,
});

test("a lane is read from where the last claim ended, and from its beginning once a second", () => {
  const directory = new LaneDirectory();
  directory.found([lane(1)]);
  expect(directory.fromOf(1, 0)).toBeUndefined();
  directory.readUpTo(1, { sortKey: 7, whole: true, now: 0 });
  expect(directory.fromOf(1, 900)).toBe(7);
  directory.readUpTo(1, { sortKey: 9, whole: false, now: 900 });
  expect([directory.fromOf(1, 999), directory.fromOf(1, 1000)]).toEqual([9, undefined]);
});

test("a lane that was dropped or returned less than requested is read from its beginning", () => {
  const directory = new LaneDirectory();
  directory.found([lane(1), lane(2)]);
  for (const laneNo of [1, 2]) directory.readUpTo(laneNo, { sortKey: 7, whole: true, now: 0 });
  directory.dropped(1);
  directory.readFromBeginning(2);
  expect([directory.fromOf(1, 1), directory.fromOf(2, 1)]).toEqual([undefined, undefined]);
  expect(directory.lanes().map(({ laneNo }) => laneNo)).toEqual([2]);
});

test("while full polls are costly, they take a twentieth of the time, and lanes are read from the heads that polls returned", () => {
  const directory = new LaneDirectory();
  directory.polled([{ ...lane(1), head: 500 }], { now: 0, tookMs: 100 });
  expect([directory.isWholePollDue(1999), directory.isWholePollDue(2000)]).toEqual([false, true]);
  const seconds = (from: number | undefined) => Math.round(((from ?? 0) - 500) * 600);
  expect(seconds(directory.fromOf(1, 1500))).toBe(-5);
  directory.readUpTo(1, { sortKey: 500.5, whole: false, now: 1600 });
  expect(seconds(directory.fromOf(1, 3000))).toBe(295);
  // An empty lane keeps its mark, so that the next read finds a new job in order.
  directory.readDry(1, undefined);
  expect([directory.lanes(), seconds(directory.fromOf(1, 9000))]).toEqual([[], 295]);
  // A new job with a better priority: one read begins there, and the next read begins at the old mark.
  directory.polled([{ ...lane(1), head: 499 }], { now: 9000 });
  expect([directory.lanes().length, seconds(directory.fromOf(1, 9000))]).toEqual([1, -605]);
  directory.readDry(1, 499);
  expect(seconds(directory.fromOf(1, 9000))).toBe(295);
  // A full poll moves the mark to the lane's first job, even if that job sorts before the mark.
  directory.polled([{ ...lane(1), head: 400 }], { now: 10_000, tookMs: 3000 });
  expect(seconds(directory.fromOf(1, 10_000))).toBe(-60_005);
  expect([directory.isWholePollDue(19_999), directory.isWholePollDue(20_000)]).toEqual([false, true]);
  directory.polled([], { now: 20_000, tookMs: 5 });
  expect([directory.isWholePollDue(20_001), directory.fromOf(1, 20_001)]).toEqual([true, undefined]);
});

test("a parked lane returns at its time, after a notification or when a poll finds it", () => {
  const directory = new LaneDirectory();
  directory.found([lane(1), lane(2), lane(3)]);
  for (const laneNo of [1, 2, 3]) directory.parked(laneNo);
  expect(directory.lanes()).toEqual([]);
  expect(directory.woken([1])).toEqual([]);
  expect(directory.lanes()).toEqual([lane(1)]);
  directory.unpark();
  expect(directory.lanes()).toHaveLength(3);
});

test("the other tenants are those with work in the last ten minutes", () => {
  const directory = new LaneDirectory();
  directory.sawTenants([lane(1, "a")], 0);
  expect(directory.hasOthers("a", 0)).toBe(false);
  directory.sawTenants([lane(2, "b")], 1000);
  directory.sawTenants([lane(1, "a")], 2000);
  expect([directory.hasOthers("a", 2000), directory.hasOthers("b", 2000)]).toEqual([true, true]);
  directory.sawTenants([lane(1, "a")], 700_000);
  expect([directory.hasOthers("a", 700_000), directory.hasOthers("b", 700_000)]).toEqual([false, true]);
});
