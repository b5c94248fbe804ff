import { expect, test, vi } from "vitest";
import { Turns } from "@/lib/turns";
import { holdUntilSettled, isAbandonable, releaseHeld, startWork, throwIfAbandoned } from "./abandon";

const late = new Error("too late");
/** Far more than the work takes until it is abandoned. */
const MOST_TURNS = 100_000_000;

test("abandoned work ends at its next turn, and then gives back what it holds", async () => {
  const release = vi.fn();
  let turnsTaken = 0;
  const { result, abandon } = startWork(async () => {
    holdUntilSettled(release);
    const turns = new Turns();
    for (; turnsTaken < MOST_TURNS; turnsTaken += 1) await turns.begin();
  });
  await expect.poll(() => turnsTaken).toBeGreaterThan(1);
  abandon(late);
  expect(release).not.toHaveBeenCalled();
  const taken = turnsTaken;
  await expect(result).rejects.toBe(late);
  expect(turnsTaken).toBe(taken);
  expect(release).toHaveBeenCalledOnce();
});

test("work outside, beside or after abandoned work goes on", async () => {
  let later = Promise.resolve();
  const { result, abandon } = startWork(async () => {
    later = new Promise((resolve) => setTimeout(resolve, 5)).then(throwIfAbandoned);
    expect(isAbandonable()).toBe(true);
  });
  abandon(late);
  const beside = startWork(() => new Turns().begin());
  await new Turns().begin();
  await Promise.all([result, beside.result, later]);
  expect(isAbandonable()).toBe(false);
});

test("what is held is given back once, on request or at the end, and at once outside of work", async () => {
  const [early, atEnd, outside] = [vi.fn(), vi.fn(), vi.fn()];
  await startWork(async () => {
    holdUntilSettled(early);
    releaseHeld();
    expect(early).toHaveBeenCalledOnce();
    holdUntilSettled(atEnd);
    expect(atEnd).not.toHaveBeenCalled();
  }).result;
  holdUntilSettled(outside);
  for (const release of [early, atEnd, outside]) expect(release).toHaveBeenCalledOnce();
});
