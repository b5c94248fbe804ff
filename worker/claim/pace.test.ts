import { expect, test } from "vitest";
import { Pace } from "./pace";

function paceOf(runs: Record<string, readonly number[]>): Pace {
  const pace = new Pace();
  for (const [id, all] of Object.entries(runs)) for (const ms of all) pace.ended(id, ms);
  return pace;
}

test("nothing is claimed ahead for a definition that has not run yet, or that takes its time", () => {
  const pace = paceOf({ slow: [40] });
  expect([pace.isQuick("slow"), pace.isQuick("new"), pace.ahead(50)]).toEqual([false, false, 0]);
});

test("what is claimed ahead is about 25 ms of work, and never more than 800 jobs", () => {
  expect(paceOf({ quick: [2] }).ahead(4)).toBe(50);
  expect(paceOf({ quick: [0] }).ahead(50)).toBe(800);
  expect(paceOf({ quick: [2], slow: [1000] }).ahead(4)).toBe(50);
});

test("one slow run ends it at once, and many quick ones bring it back", () => {
  const pace = paceOf({ mixed: [1, 1, 500] });
  expect(pace.isQuick("mixed")).toBe(false);
  for (let run = 0; run < 60; run++) pace.ended("mixed", 1);
  expect(pace.isQuick("mixed")).toBe(true);
});

test("nothing is claimed ahead while places are stuck, until one of their jobs ends", () => {
  const pace = paceOf({ quick: [2] });
  pace.stuck();
  expect([pace.ahead(4), pace.isQuick("quick")]).toEqual([0, true]);
  pace.ended("slow", 1000);
  expect(pace.ahead(4)).toBe(50);
});
