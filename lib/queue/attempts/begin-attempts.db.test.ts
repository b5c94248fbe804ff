import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { claimFromLanes, claimJobs, createLimit, getJob, listAttempts, pollWork } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { startAttempts } from "../claim/claim-jobs";
import { rescueExpiredLeases } from "../leases/rescue-expired-leases";
import { registerWorker } from "../workers/workers";
import { markBegun, type Numbers, openMarks } from "./begin-attempts";
import { settleAttempts } from "./settle-attempts";
import type { ClaimedJob } from "./types";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const WORKER = "w";
let taken: number;
let jobs: [ClaimedJob, ClaimedJob, ClaimedJob];

/** Claims `count` jobs for this worker, numbered from `firstNo` on. */
async function claimed(count: number, firstNo: number): Promise<ClaimedJob[]> {
  for (let n = 0; n < count; n += 1) await make.job(scope);
  return claimAgain(count, firstNo);
}

async function claimAgain(limit: number, firstNo: number): Promise<ClaimedJob[]> {
  const { lanes } = await pollWork(make.worker, { workerId: WORKER, afterLane: 0, maxLanes: 256 });
  const asked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit, leaseSeconds: 30 }));
  const found = await claimJobs(make.worker, { workerId: WORKER, lanes: asked, limit, firstNo });
  return found.toSorted((a, b) => (a.claimNo ?? 0) - (b.claimNo ?? 0));
}

const note = (upto: number, waiting: readonly Numbers[] = []) =>
  markBegun(make.worker, { workerId: WORKER, upto, waiting, taken });
const rescue = () => rescueExpiredLeases(make.scheduler, { limit: 1000, random: () => 0 });
const lapse = () => database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s'");
const spentOf = async ({ jobId }: ClaimedJob) => (await getJob(make.web, scope, jobId))?.attempt_count;
const attemptOf = async ({ jobId }: ClaimedJob) => (await listAttempts(make.web, scope, jobId))?.at(0);

beforeEach(async () => {
  await database.query("delete from app.live_jobs");
  await database.query("delete from app.job_workers");
  const worker = { workerId: WORKER, hostname: "here", pid: 1, version: "", label: "", isolation: "" };
  await registerWorker(make.worker, { ...worker, queues: [], definitions: [], capacity: 1 });
  taken = (await openMarks(make.worker, WORKER)) ?? -1;
  const [first, second, third] = await claimed(3, 1);
  if (!first || !second || !third) throw new Error("there are three");
  jobs = [first, second, third];
});

describe("a mark of the claim numbers that have begun", () => {
  test("makes exactly the begun attempts count when their leases are lost", async () => {
    expect(jobs.map(({ claimNo, hasBegun }) => [claimNo, hasBegun])).toEqual([1, 2, 3].map((no) => [no, false]));
    expect(await note(3, [[2, 2]])).toBe(true);
    await lapse();
    expect(await rescue()).toMatchObject({ rescued: 3 });
    for (const [index, spent] of [1, 0, 1].entries()) {
      const job = jobs[index] as ClaimedJob;
      expect(await spentOf(job)).toBe(spent);
      const attempt = await attemptOf(job);
      expect(attempt).toMatchObject({ status: "worker_lost" });
      expect(attempt?.started_at != null).toBe(spent === 1);
    }
  });

  test("does not cover higher numbers, another lease, or another worker's lease of the same job", async () => {
    expect(await note(2)).toBe(true);
    await settleAttempts(make.worker, [{ ...retried(jobs[0], 0), spent: false, status: "released" }]);
    const [again] = await claimAgain(1, 10);
    expect(again).toMatchObject({ jobId: jobs[0].jobId, claimNo: 10 });
    await settleAttempts(make.worker, [{ ...retried(jobs[1], 0), spent: false, status: "released" }]);
    const other = await make.claim("another", 1);
    expect(other[0]).toMatchObject({ jobId: jobs[1].jobId, claimNo: null });
    await lapse();
    await rescue();
    expect(await Promise.all(jobs.map(spentOf))).toEqual([0, 0, 0]);
  });

  test("is rejected after leases were taken from the worker, so no attempt begins under a lost lease", async () => {
    await lapse();
    await rescue();
    expect(await note(3)).toBe(false);
    expect(await startAttempts(make.worker, jobs)).toEqual({ begun: [], expired: [] });
    taken = (await openMarks(make.worker, WORKER)) ?? -1;
    expect(await note(3)).toBe(true);
    expect(await Promise.all(jobs.map(spentOf))).toEqual([0, 0, 0]);
  });

  test("is seen by a rescue that started before it", async () => {
    await lapse();
    await make.scheduler.transaction(async (tx) => {
      expect(await note(1)).toBe(true);
      await rescueExpiredLeases(tx, { limit: 1000, random: () => 0 });
    });
    expect(await Promise.all(jobs.map(spentOf))).toEqual([1, 0, 0]);
  });

  test("waits for a rescue that takes leases, and is then rejected", async () => {
    await lapse();
    let answer: boolean | "open" = "open";
    let noting: Promise<unknown> = Promise.resolve();
    await make.scheduler.transaction(async (tx) => {
      await rescueExpiredLeases(tx, { limit: 1000, random: () => 0 });
      noting = note(3).then((noted) => {
        answer = noted;
      });
      await make.worker.run({ name: "look", text: "select 1", repeatable: true });
      expect(answer).toBe("open");
    });
    await noting;
    expect(answer).toBe(false);
    expect(await Promise.all(jobs.map(spentOf))).toEqual([0, 0, 0]);
  });

  test("requires a registered worker", async () => {
    expect(await openMarks(make.worker, "unregistered")).toBeNull();
    expect(await markBegun(make.worker, { workerId: "unregistered", upto: 1, waiting: [], taken: 0 })).toBe(false);
  });
});

test("the jobs of one claim have different numbers, in lanes with and without limits", async () => {
  await database.query("delete from app.live_jobs");
  const { key } = await make.definition();
  await createLimit(make.platform, { scope: "definition", definition_key: key, max_running: 100 });
  for (let n = 0; n < 4; n += 1) await make.job(scope, n % 2 === 0 ? { definitionKey: key } : {});
  const { lanes } = await pollWork(make.worker, { workerId: WORKER, afterLane: 0, maxLanes: 256 });
  expect(lanes.map(({ limited }) => limited).toSorted()).toEqual([false, true]);
  const asked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit: 2, leaseSeconds: 30 }));
  const { jobs: all } = await claimFromLanes(make.worker, { workerId: WORKER, lanes: asked, limit: 6, firstNo: 7 });
  expect(all.map(({ claimNo }) => claimNo).toSorted()).toEqual([10, 7, 8, 9].toSorted());
});

describe("the begin of a marked attempt", () => {
  const beganAt = () => performance.now() - 60_000;

  test("is stored with its end, and is never before its claim", async () => {
    const [first, second, third] = jobs;
    await note(3);
    await database.query("update app.live_jobs set claimed_at = claimed_at - interval '100 s' where job_id <> $1", [
      third.jobId,
    ]);
    await settleAttempts(make.worker, [
      { ...succeeded(first), beganAt: beganAt() },
      { ...retried(second, 5), beganAt: beganAt() },
      { ...succeeded(third), errorText: "not plain", beganAt: beganAt() },
    ]);
    const ran = await database.query(
      `select extract(epoch from finished_at - started_at)::float8 as seconds, started_at = claimed_at as at_claim
       from app.job_attempts where job_id = any ($1) order by job_id`,
      [jobs.map(({ jobId }) => jobId)],
    );
    for (const { seconds } of ran.slice(0, 2)) expect(Math.abs(seconds - 60)).toBeLessThan(10);
    expect(ran[2]).toMatchObject({ at_claim: true });
    expect((await getJob(make.web, scope, first.jobId))?.started_at).not.toBeNull();
    expect((await getJob(make.web, scope, second.jobId))?.started_at).not.toBeNull();
  });

  test("is stored in the job's row for a long attempt", async () => {
    await note(3);
    await database.query("update app.live_jobs set claimed_at = claimed_at - interval '100 s'");
    expect((await startAttempts(make.worker, [{ ...jobs[0], beganAt: beganAt() }])).begun).toEqual([jobs[0].jobId]);
    const [row] = await database.query(
      "select extract(epoch from app.now() - attempt_started_at)::float8 as seconds from app.live_jobs where job_id = $1",
      [jobs[0].jobId],
    );
    expect(Math.abs(row?.seconds - 60)).toBeLessThan(10);
  });
});
