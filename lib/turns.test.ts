import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { runInLine } from "./db/in-line";
import { Turns } from "./turns";

/** Keeps the processor for longer than a turn. */
function work(): void {
  const until = performance.now() + 12;
  while (performance.now() < until);
}

test("each round of the event loop runs at most one turn of one task, and all tasks progress", async () => {
  let round = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; round += 1) await setImmediate();
  })();
  const roundsOfTurns: number[] = [];
  await Promise.all(
    Array.from({ length: 5 }, async () => {
      const turns = new Turns();
      for (let turn = 0; turn < 4; turn += 1) {
        work();
        await turns.next();
        roundsOfTurns.push(round);
      }
    }),
  );
  isOver = true;
  await counting;
  expect(roundsOfTurns).toHaveLength(20);
  expect(new Set(roundsOfTurns).size).toBe(20);
});

test("lines take turns: many pieces of work of one line delay another line's as one piece does", async () => {
  const turnsOf: string[] = [];
  const piece = (line: string, count: number) =>
    runInLine(line, async () => {
      const turns = new Turns();
      for (let turn = 0; turn < count; turn += 1) {
        await turns.begin();
        turnsOf.push(line);
      }
    });
  await Promise.all([...Array.from({ length: 30 }, () => piece("a", 2)), piece("b", 4), piece("c", 1)]);
  expect(turnsOf).toHaveLength(65);
  expect(turnsOf.slice(0, 8).join("")).toBe("abcababa");
  expect(turnsOf.lastIndexOf("b")).toBeLessThan(9);
});
