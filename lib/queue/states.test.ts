import { expect, test } from "vitest";
import {
  canMove,
  isCancelable,
  isChangeable,
  isPausable,
  isResumable,
  isRetryable,
  isTerminal,
  JOB_STATUSES,
  LIVE_STATES,
  TERMINAL_STATES,
} from "./states";

test("only a manual retry revives an ended job, and never one that succeeded", () => {
  for (const from of TERMINAL_STATES) {
    expect(canMove(from, "queued", "person"), from).toBe(from !== "succeeded");
    expect(canMove(from, "queued", "worker"), from).toBe(false);
    for (const to of JOB_STATUSES) if (to !== "queued") expect(canMove(from, to), `${from} → ${to}`).toBe(false);
  }
});

test("a status is live or terminal, and everything live can be canceled", () => {
  for (const status of JOB_STATUSES)
    expect(isTerminal(status)).toBe(!(LIVE_STATES as readonly string[]).includes(status));
  expect(JOB_STATUSES.filter(isCancelable)).toEqual([...LIVE_STATES]);
  expect(JOB_STATUSES.filter(isRetryable)).toEqual(["failed", "dead_letter", "canceled", "expired"]);
});

test("a job starts running only from queued", () => {
  expect(JOB_STATUSES.filter((from) => canMove(from, "running"))).toEqual(["queued"]);
});

test("only waiting jobs can be paused, only paused jobs resumed, and both can be changed", () => {
  expect(JOB_STATUSES.filter(isPausable)).toEqual(["queued"]);
  expect(JOB_STATUSES.filter(isResumable)).toEqual(["paused"]);
  expect(JOB_STATUSES.filter(isChangeable)).toEqual(["queued", "paused"]);
  for (const status of JOB_STATUSES) expect(canMove("paused", status, "worker"), status).toBe(status === "expired");
});
