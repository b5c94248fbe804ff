import { expect, test } from "vitest";
import { Pace } from "./pace";

function paceOf(runs: Record<string, readonly number[]>): Pace {
  const pace = new Pace();
  for (const [id, all] of Object.entries(runs)) for (const ms of all) pace.ended(id, ms);
  return pace;
}

test("no job is claimed ahead for a definition that has not run yet or runs long", () => {
  const pace = paceOf({ slow: [40] });
  expect([pace.isQuick("slow"), pace.isQuick("new"), pace.ahead(50)]).toEqual([false, false, 0]);
});

test("jobs for about 25 ms of work are claimed ahead, at most 800", () => {
  expect(paceOf({ quick: [2] }).ahead(4)).toBe(50);
  expect(paceOf({ quick: [0] }).ahead(50)).toBe(800);
  expect(paceOf({ quick: [2], slow: [1000] }).ahead(4)).toBe(50);
});

test("one slow run stops claiming ahead, and many quick ones resume it", () => {
  const pace = paceOf({ mixed: [1, 1, 500] });
  expect(pace.isQuick("mixed")).toBe(false);
  for (let run = 0; run < 60; run++) pace.ended("mixed", 1);
  expect(pace.isQuick("mixed")).toBe(true);
});

test("no job is claimed ahead while slots are stuck, until one of their jobs ends", () => {
  const pace = paceOf({ quick: [2] });
  pace.stuck();
  expect([pace.ahead(4), pace.isQuick("quick")]).toEqual([0, true]);
  pace.ended("slow", 1000);
  expect(pace.ahead(4)).toBe(50);
});
