import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { enqueueJob, getJob, promoteDueJobs, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { LOOPS } from "./loops";
import { Hints, type Loop, runLoops } from "./run-loops";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const HOUR_MS = 3_600_000;
const leader = { leaderId: "the-leader", term: 7 };
let lines: string[];
let controller: AbortController;

beforeEach(async () => {
  lines = [];
  controller = new AbortController();
  await database.query("update app.leader set leader_id = $1, term = $2", [leader.leaderId, leader.term]);
});

function run(loops: readonly Loop[], hints?: Hints): Promise<void> {
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ process: "scheduler", level: "info", format: "json", stream });
  const turn = { db: make.scheduler, web: make.web, leader, log, random: () => 0.5 };
  return runLoops(loops, turn, controller.signal, hints);
}

async function end(running: Promise<void>): Promise<void> {
  controller.abort();
  await running;
}

describe("the loops of a leader", () => {
  test("run concurrently at their interval, and at once again while more work is waiting", async () => {
    const turns = { slow: 0, hungry: 0 };
    const running = run([
      { name: "slow", everyMs: 60_000, turn: async () => ({ again: ++turns.slow < 0 }) },
      { name: "hungry", everyMs: 60_000, turn: async () => ({ again: ++turns.hungry < 5 }) },
    ]);
    await waitFor(() => turns.hungry === 5);
    await end(running);
    expect(turns).toEqual({ slow: 1, hungry: 5 });
  });

  test("end when asked, during a long pause at once, and otherwise after the current turn", async () => {
    let inside = false;
    const running = run([
      {
        name: "long turn",
        everyMs: 60_000,
        turn: async () => {
          inside = true;
          await new Promise((resolve) => setTimeout(resolve, 100));
          inside = false;
          return { again: true };
        },
      },
      { name: "long pause", everyMs: 3_600_000, turn: async () => ({ again: false }) },
    ]);
    await waitFor(() => inside);
    const began = performance.now();
    await end(running);
    expect(inside).toBe(false);
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test("SCHED-18 pause as long as a turn requests, and never longer than their interval", async () => {
    const turns = { soon: 0, far: 0 };
    const running = run([
      { name: "soon", everyMs: 60_000, turn: async () => ({ again: false, inMs: ++turns.soon < 3 ? 20 : 60_000 }) },
      { name: "far", everyMs: 200, turn: async () => ({ again: false, inMs: ++turns.far && 2 ** 40 }) },
    ]);
    await waitFor(() => turns.soon === 3 && turns.far >= 2);
    await end(running);
    expect(turns.soon).toBe(3);
    // A timer of more than 2^31 - 1 ms would fire at once, over and over.
    expect(turns.far).toBeLessThan(50);
  });

  test("are woken by a hint, also by one during a turn, but not after a failure", async () => {
    const hints = new Hints();
    let turns = 0;
    let failed = 0;
    const running = run(
      [
        {
          name: "sleeper",
          everyMs: 3_600_000,
          hint: "wake",
          turn: async () => {
            turns += 1;
            if (turns === 2) hints.give("wake");
            return { again: false };
          },
        },
        {
          name: "breaks",
          everyMs: 3_600_000,
          hint: "wake",
          turn: async () => {
            failed += 1;
            throw new Error("broken on purpose");
          },
        },
      ],
      hints,
    );
    await waitFor(() => turns === 1 && failed === 1);
    hints.give("other");
    hints.give("wake");
    await waitFor(() => turns === 3);
    await end(running);
    expect([turns, failed]).toEqual([3, 1]);
  });

  test("log a failing turn and repeat it at most once a second, without stopping the others", async () => {
    const at: number[] = [];
    let others = 0;
    const running = run([
      {
        name: "breaks",
        everyMs: 10,
        turn: async () => {
          at.push(performance.now());
          throw new Error("broken on purpose");
        },
      },
      { name: "other", everyMs: 20, turn: async () => ({ again: ++others < 0 }) },
    ]);
    await waitFor(() => at.length === 2);
    await end(running);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(900);
    expect(others).toBeGreaterThan(5);
    expect(lines.some((line) => line.includes("a timed task failed") && line.includes("breaks"))).toBe(true);
  });

  test("write nothing after losing the term, and log no error", async () => {
    const scope = await make.tenant();
    const due = await make.job(scope, { scheduledFor: new Date(Date.now() + HOUR_MS) });
    await database.moveClock(2 * HOUR_MS);
    await database.query("update app.leader set leader_id = 'another', term = term + 1");
    let tried = 0;
    const running = run([
      {
        name: "promote",
        everyMs: 50,
        turn: async ({ inTerm }) => {
          tried += 1;
          await inTerm((tx) => promoteDueJobs(tx, { limit: 10 }));
          return { again: false };
        },
      },
    ]);
    await waitFor(() => tried === 2);
    await end(running);
    expect(await database.query("select ready from app.live_jobs where job_id = $1", [due.id])).toEqual([
      { ready: false },
    ]);
    expect(lines).toEqual([]);
    await database.moveClock(0);
  });

  test("of the scheduler run their first turn without an error", async () => {
    await make.job(await make.tenant(), { scheduledFor: new Date(Date.now() + 10) });
    const seen = new Set<string>();
    const running = run(
      LOOPS.map((loop) => ({
        ...loop,
        turn: async (turn) => {
          const answer = await loop.turn(turn);
          seen.add(loop.name);
          return answer;
        },
      })),
    );
    await waitFor(() => seen.size === LOOPS.length, { what: "a turn of every loop" });
    await end(running);
    expect(lines.filter((line) => line.includes('"warn"') || line.includes('"error"'))).toEqual([]);
  });

  test("A-04 release a job that a fault left blocked, and log it as an error", async () => {
    const scope = await make.tenant();
    const parent = await make.runningJob(scope);
    const { jobId } = await enqueueJob(make.web, scope, {
      definitionKey: (await make.definition()).key,
      dependsOn: [{ jobId: parent.jobId }],
    });
    await settleAttempts(make.worker, [succeeded(parent)]);
    await database.query("update app.job_dependencies set state = 'pending' where child_id = $1", [jobId]);
    await database.query("update app.live_jobs set state = 'blocked', ready = false where job_id = $1", [jobId]);
    const running = run(LOOPS.filter(({ name }) => name === "repair blocked jobs"));
    await waitFor(async () => (await getJob(make.web, scope, jobId))?.status === "queued");
    await end(running);
    expect(lines.join("")).toContain('"healed":1');
  });
});
