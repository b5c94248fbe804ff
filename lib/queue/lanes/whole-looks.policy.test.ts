import { expect, test } from "vitest";
import { DueCursor, WholeLooks } from "./whole-looks.policy";

test("every scan is a full one while that is cheap; costly full scans take a twentieth of the time", () => {
  const looks = new WholeLooks();
  expect(looks.isDue(0)).toBe(true);
  looks.took(5, 0);
  expect([looks.isCostly, looks.isDue(1)]).toEqual([false, true]);
  looks.took(100, 1000);
  expect([looks.isCostly, looks.isDue(2999), looks.isDue(3000)]).toEqual([true, false, true]);
  looks.took(3000, 10_000);
  expect([looks.isDue(19_999), looks.isDue(20_000)]).toEqual([false, true]);
});

test("a requested full scan comes within a second, or takes at most half of the time", () => {
  const looks = new WholeLooks();
  looks.took(400, 0);
  looks.ask();
  expect([looks.isDue(999), looks.isDue(1000)]).toEqual([false, true]);
  looks.took(3000, 1000);
  expect(looks.isDue(10_999)).toBe(false);
  looks.ask();
  expect([looks.isDue(6999), looks.isDue(7000)]).toEqual([false, true]);
});

test("a partial scan of due rows begins where the last one ended while full scans are costly, and never skips rows that failed", () => {
  const cursor = new DueCursor();
  const [a, b] = [new Date(1000), new Date(2000)];
  expect(cursor.next(0)).toBeUndefined();
  cursor.looked(undefined, { lookedTo: a, tookMs: 100 }, 0);
  expect(cursor.next(1999)).toEqual(a);
  cursor.looked(a, { lookedTo: b, tookMs: 1 }, 1999);
  cursor.looked(b, { lookedTo: null, tookMs: 1 }, 1999);
  expect([cursor.next(1999), cursor.next(2000)]).toEqual([b, undefined]);
});
