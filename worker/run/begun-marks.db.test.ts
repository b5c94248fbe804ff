import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, DatabaseError, type Statement } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { type ClaimedJob, claimJobs, getJob, pollWork, registerWorker, rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { processClock } from "../lease/lease-protocol";
import { BegunMarks } from "./begun-marks";
import { JobInFlight } from "./job-in-flight";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const WORKER = "starter";
const log = createLogger({ process: "worker", level: "silent", format: "json" });
/** Names of the worker's statements, in order. */
let asked: string[];
let starts: BegunMarks;
/** This many marks get no answer, and reach the server when the test sends them. */
let missing = 0;
const undelivered: (() => Promise<unknown>)[] = [];

/** The worker's database, with its statements recorded. */
const watched = (names: string[]): Database => ({
  ...make.worker,
  run: async <R extends object>(statement: Statement, values?: readonly unknown[]) => {
    const name = statement.name.replace(/_[0-9a-f]{8}$/, "");
    names.push(name);
    if (name === "mark_begun" && missing-- > 0) {
      undelivered.push(() => make.worker.run(statement, values));
      throw new DatabaseError({ kind: "timeout", connectionLost: true });
    }
    return make.worker.run<R>(statement, values);
  },
});

async function take(count: number, expiresAt?: Date): Promise<JobInFlight[]> {
  for (let n = 0; n < count; n += 1) await make.job(scope, expiresAt ? { expiresAt } : {});
  const { lanes } = await pollWork(make.worker, { workerId: WORKER, afterLane: 0, maxLanes: 256 });
  const lanesAsked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit: 100, leaseSeconds: 30 }));
  const since = processClock();
  const request = { workerId: WORKER, lanes: lanesAsked, limit: 100, firstNo: starts.numbers(100) };
  const jobs = await claimJobs(make.worker, request);
  const taken = jobs.map((job) => new JobInFlight(job, performance.now(), since, 60_000));
  starts.took(taken);
  return taken.toSorted((a, b) => (a.job.claimNo ?? 0) - (b.job.claimNo ?? 0));
}

/** The first start registers the worker's marks with the database; some time later, marks are used. */
async function opened(): Promise<void> {
  await waitFor(async () => {
    const [inFlight] = await take(1);
    asked.length = 0;
    const begun = inFlight && (await starts.begin(inFlight));
    if (inFlight) starts.ended(inFlight, true);
    return begun === "begun" && asked[0] === "mark_begun";
  });
  await database.query("delete from app.live_jobs");
  asked.length = 0;
}

const lapse = (jobs: readonly JobInFlight[]) =>
  database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = any ($1)", [
    jobs.map(({ job }) => job.jobId),
  ]);
const rescue = () => rescueExpiredLeases(make.scheduler, { limit: 1000, random: () => 0 });
const spent = (all: readonly { readonly job: ClaimedJob }[]) =>
  Promise.all(all.map(async ({ job }) => (await getJob(make.web, scope, job.jobId))?.attempt_count));
const beginAll = (all: readonly JobInFlight[]) => Promise.all(all.map((inFlight) => starts.begin(inFlight)));

beforeEach(async () => {
  await database.query("delete from app.live_jobs");
  await database.query("delete from app.job_workers");
  const worker = { workerId: WORKER, hostname: "here", pid: 1, version: "", label: "", isolation: "" };
  await registerWorker(make.worker, { ...worker, queues: [], definitions: [], capacity: 1 });
  asked = [];
  missing = 0;
  starts = new BegunMarks({ db: watched(asked), log, workerId: WORKER, onBegun: () => undefined });
});

describe("begin marks of jobs claimed ahead", () => {
  test("cover many jobs at once; after a kill, jobs that had not begun spent nothing, in any order", async () => {
    await opened();
    const inFlight = await take(9);
    const [, b, , d, e] = inFlight;
    if (!b || !d || !e) throw new Error("there are nine");
    expect(await beginAll([e, b, d])).toEqual(["begun", "begun", "begun"]);
    expect(asked).toEqual(["mark_begun"]);
    await lapse(inFlight);
    await rescue();
    expect(await spent(inFlight)).toEqual([0, 1, 0, 1, 1, 0, 0, 0, 0]);
  });

  test("are stored one by one while the database does not know this worker", async () => {
    await database.query("delete from app.job_workers");
    const inFlight = await take(3);
    expect(await beginAll(inFlight)).toEqual(["begun", "begun", "begun"]);
    expect(asked.filter((name) => name !== "open_marks")).toEqual(["start_attempts"]);
  });

  test("begin no job under a lease that was taken, and the other jobs begin", async () => {
    await opened();
    const [lost, kept] = await take(2);
    if (!lost || !kept) throw new Error("there are two");
    await lapse([lost]);
    await rescue();
    expect(await beginAll([lost, kept])).toEqual(["lost", "begun"]);
    expect(asked.slice(0, 2)).toEqual(["mark_begun", "start_attempts"]);
    const [marked] = await database.query("select attempt_started_at from app.live_jobs where job_id = $1", [
      kept.job.jobId,
    ]);
    expect(marked?.attempt_started_at).not.toBeNull();
  });

  test("never cover jobs held when leases were taken again; they cover jobs claimed later", async () => {
    await opened();
    const inFlight = await take(3);
    const [lost, first, second] = inFlight;
    if (!lost || !first || !second) throw new Error("there are three");
    await lapse([lost]);
    await rescue();
    await starts.begin(first);
    await waitFor(async () => {
      const [later] = await take(1);
      asked.length = 0;
      return later !== undefined && (await starts.begin(later)) === "begun" && asked[0] === "mark_begun";
    });
    asked.length = 0;
    expect(await starts.begin(second)).toBe("begun");
    expect(asked).toEqual(["start_attempts"]);
  });

  test("do not cover jobs whose claim was not answered", async () => {
    await opened();
    for (let n = 0; n < 2; n += 1) await make.job(scope);
    const { lanes } = await pollWork(make.worker, { workerId: WORKER, afterLane: 0, maxLanes: 256 });
    const lanesAsked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit: 2, leaseSeconds: 30 }));
    const firstNo = starts.numbers(2);
    const notArrived = await claimJobs(make.worker, { workerId: WORKER, lanes: lanesAsked, limit: 2, firstNo });
    starts.unanswered([firstNo, firstNo + 1]);
    const inFlight = await take(1);
    expect(await beginAll(inFlight)).toEqual(["begun"]);
    expect(asked).toEqual(["mark_begun"]);
    const all = [...notArrived.map((job) => ({ job })), ...inFlight];
    await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s'");
    await rescue();
    expect(await spent(all)).toEqual([0, 0, 1]);
  });

  test("do not cover a job that this worker dropped before it began", async () => {
    await opened();
    const [dropped, begun] = await take(2);
    if (!dropped || !begun) throw new Error("there are two");
    starts.ended(dropped, false);
    expect(await starts.begin(begun)).toBe("begun");
    await lapse([dropped, begun]);
    await rescue();
    expect(await spent([dropped, begun])).toEqual([0, 1]);
  });

  test("do not cover a dropped job either after a later unanswered claim", async () => {
    await opened();
    const [dropped, begun] = await take(2);
    if (!dropped || !begun) throw new Error("there are two");
    const firstNo = starts.numbers(10);
    starts.unanswered([firstNo, firstNo + 9]);
    starts.ended(dropped, false);
    expect(await starts.begin(begun)).toBe("begun");
    expect(asked).toEqual(["mark_begun"]);
    await lapse([dropped, begun]);
    await rescue();
    expect(await spent([dropped, begun])).toEqual([0, 1]);
  });

  test("are not undone by an older mark that arrives late", async () => {
    await opened();
    const [first] = await take(1);
    if (!first) throw new Error("there is one");
    missing = 1;
    expect(await starts.begin(first)).toBe("begun");
    starts.ended(first, true);
    let later: JobInFlight | undefined;
    await waitFor(async () => {
      [later] = await take(1);
      asked.length = 0;
      return later !== undefined && (await starts.begin(later)) === "begun" && asked[0] === "mark_begun";
    });
    for (const send of undelivered.splice(0)) await send();
    if (!later) throw new Error("there is one");
    await lapse([later]);
    await rescue();
    expect(await spent([later])).toEqual([1]);
  });

  test("are left to the database for jobs that may have expired, which it decides by its own clock", async () => {
    await opened();
    const inFlight = await take(3, new Date(Date.now() + 3_600_000));
    const [past, near, far] = inFlight;
    if (!past || !near || !far) throw new Error("there are three");
    const soon = ({ job, takenAt, since }: JobInFlight) =>
      new JobInFlight({ ...job, expiresInMs: 0 }, takenAt, since, 60_000);
    await database.query("update app.live_jobs set expires_at = app.clock() where job_id = $1", [past.job.jobId]);
    expect(await beginAll([far, soon(past), soon(near)])).toEqual(["begun", "expired", "begun"]);
    expect(asked).toEqual(["mark_begun", "start_attempts"]);
  });

  test("appear in the rows of long attempts", async () => {
    await opened();
    const inFlight = await take(2);
    await beginAll(inFlight);
    const [short, long] = inFlight;
    if (!short || !long) throw new Error("there are two");
    starts.ended(short, true);
    await waitFor(async () => {
      const rows = await database.query("select job_id from app.live_jobs where attempt_started_at is not null");
      return rows.length === 1 && rows[0]?.job_id === long.job.jobId;
    });
  });
});
