import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { Statement, Transaction } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { getJob, LeaseWatch } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { expireTurn, promoteTurn, rescueTurn } from "./due-turns";
import type { Loop } from "./run-loops";

/** A full sweep that takes this long runs at most once a second. */
const COSTLY_MS = 50;
const PAUSE_MS = 20 * COSTLY_MS;

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());
beforeEach(() => database.query("truncate app.live_jobs"));

const log = createLogger({ process: "scheduler", level: "silent", format: "json" });
const leader = { leaderId: "the-leader", term: 1 };

/** Runs turns on a database with slow full sweeps, and counts those sweeps. */
function slowed(loop: Loop["turn"], isWhole: (statement: Statement, values: readonly unknown[]) => boolean) {
  let whole = 0;
  const slow = (tx: Transaction): Transaction => ({
    ...tx,
    savepoint: (work) => tx.savepoint(work),
    run: async (statement: Statement, values: readonly unknown[] = []) => {
      if (isWhole(statement, values)) {
        whole += 1;
        await delay(COSTLY_MS);
      }
      return tx.run(statement, values);
    },
  });
  const inTerm = <T>(work: (tx: Transaction) => Promise<T>) => make.scheduler.transaction((tx) => work(slow(tx)));
  return {
    turn: () => loop({ db: make.scheduler, web: make.web, leader, log, random: () => 0, inTerm }),
    whole: () => whole,
  };
}
const fromBeginning = (name: string) => (statement: Statement, values: readonly unknown[]) =>
  statement.name.startsWith(name) && values[1] === "-infinity";
const set = (id: string, assignment: string) =>
  database.query(`update app.live_jobs set ${assignment} where job_id = $1`, [id]);
const statusOf = async (id: string) => (await getJob(make.web, scope, id))?.status;
const isReady = async (id: string) =>
  (await database.query("select ready from app.live_jobs where job_id = $1", [id]))[0]?.ready;

const turnUntil = (turn: () => Promise<unknown>, isSo: () => Promise<unknown>, withinMs: number) =>
  waitFor(
    async () => {
      await turn();
      return isSo();
    },
    { withinMs },
  );

test("while full scans are costly, due jobs are promoted without one, and a job due far in the past with the next", async () => {
  const { turn, whole } = slowed(promoteTurn(), fromBeginning("promote_due"));
  const later = { scheduledFor: new Date(Date.now() + 3_600_000) };
  const [soon, past] = [await make.job(scope, later), await make.job(scope, later)];
  await turn();
  const lookedAt = performance.now();
  await set(soon.id, "scheduled_for = app.now()");
  await turn();
  expect([await isReady(soon.id), whole()]).toEqual([true, 1]);
  await set(past.id, "scheduled_for = app.now() - interval '1 minute'");
  while (performance.now() - lookedAt < PAUSE_MS / 2) await turn();
  expect([await isReady(past.id), whole()]).toEqual([false, 1]);
  await turnUntil(turn, async () => await isReady(past.id), 5 * PAUSE_MS);
  expect(whole()).toBe(2);
});

test("while full scans are costly, jobs expire without one, and a job expired far in the past with the next", async () => {
  const { turn, whole } = slowed(expireTurn(), fromBeginning("expire_waiting"));
  const [soon, past] = [await make.job(scope), await make.job(scope)];
  await turn();
  const lookedAt = performance.now();
  await set(soon.id, "expires_at = app.now()");
  await turn();
  expect([await statusOf(soon.id), whole()]).toEqual(["expired", 1]);
  await set(past.id, "expires_at = app.now() - interval '1 minute'");
  while (performance.now() - lookedAt < PAUSE_MS / 2) await turn();
  expect([await statusOf(past.id), whole()]).toEqual(["queued", 1]);
  await turnUntil(turn, async () => (await statusOf(past.id)) === "expired", 5 * PAUSE_MS);
  expect(whole()).toBe(2);
});

test("while full scans are costly, an expired lease is rescued without one, and a renewed lease is not", async () => {
  const { turn, whole } = slowed(rescueTurn(new LeaseWatch()), ({ name }) => name.startsWith("expired_leases"));
  const [lost, renewed, other] = [
    await make.runningJob(scope),
    await make.runningJob(scope),
    await make.runningJob(scope),
  ];
  await set(lost.jobId, "lease_expires_at = app.now() + interval '200 ms'");
  await set(renewed.jobId, "lease_expires_at = app.now() + interval '200 ms'");
  await turn();
  await set(renewed.jobId, "lease_expires_at = app.now() + interval '30 s'");
  await turnUntil(turn, async () => (await statusOf(lost.jobId)) === "queued", PAUSE_MS);
  expect([await statusOf(renewed.jobId), whole()]).toEqual(["running", 1]);
  // An expiry that the watch could not know.
  await set(other.jobId, "lease_expires_at = app.now() + interval '3 months'");
  await turnUntil(turn, async () => (await statusOf(other.jobId)) === "queued", 5 * PAUSE_MS);
  expect(whole()).toBe(2);
});
