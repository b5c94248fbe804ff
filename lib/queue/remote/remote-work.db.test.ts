import { afterAll, expect, test } from "vitest";
import type { Statement } from "@/lib/db";
import { createLimit, FairShare, getJob, givenBackEnd } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { settleAttempts } from "../attempts/settle-attempts";
import { startAttempts } from "../claim/claim-jobs";
import { canceledAttempts } from "../leases/hold-leases";
import { RemoteLanes } from "./remote-lanes";
import {
  claimRemoteJobs,
  decideGiveBack,
  describeRemoteLanes,
  findEndedAttempt,
  findLeasedAttempt,
  recordRemoteWorker,
} from "./remote-work";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
await make.definition({ key: "far", executor: "remote", lease_seconds: 40 });
await make.definition({ key: "near" });

const ABOUT = { hostname: "h", pid: 1, version: "1", label: "l", queues: [], capacity: 1 };
const HOLDER = "remote:key-a:";
const share = new FairShare();
const claim = (scope: object = {}, more: object = {}) =>
  claimRemoteJobs(
    make.worker,
    {
      workerId: `${HOLDER}w`,
      scope: { definitions: ["far", "near"], queues: null, tenantId: null, ...scope },
      limit: 10,
      leaseSeconds: undefined,
      share,
      lanes: new RemoteLanes(),
      ...more,
    },
    Math.random,
  );

test("a heartbeat reads the same job as the claim, without the payload", async () => {
  const { id } = await make.job(acme, {
    definitionKey: "far",
    payload: { a: 1 },
    maxAttempts: 4,
    retryDelaySeconds: 2,
  });
  const [job, ...others] = (await claim()).jobs;
  expect([job?.jobId, others]).toEqual([id, []]);
  if (!job) return;
  await startAttempts(make.worker, [job]);
  const held = await findLeasedAttempt(make.worker, HOLDER, job);
  expect(held).toMatchObject({ workerId: `${HOLDER}w`, cancelRequested: false, runningSeconds: expect.any(Number) });
  expect(held?.job).toEqual({ ...job, payload: null, hasBegun: true });
});

test("while full scans are costly, new and older jobs behind them are claimed without one, and jobs before them with the next one", async () => {
  const { key } = await make.definition({ executor: "remote" });
  let [now, whole] = [0, 0];
  const lanes = new RemoteLanes(() => now);
  // As long as a scan takes that reads 500,000 dead entries.
  const run = async <R extends object>(statement: Statement, values?: readonly unknown[]): Promise<R[]> => {
    if (/^remote_lanes(?!_partly)/.test(statement.name)) {
      whole += 1;
      now += 50;
    }
    return make.worker.run<R>(statement, values);
  };
  const next = async () => {
    const request = { workerId: `${HOLDER}w`, limit: 1, leaseSeconds: undefined, share, lanes };
    const scope = { definitions: [key], queues: null, tenantId: null };
    const { jobs } = await claimRemoteJobs({ ...make.worker, run }, { ...request, scope }, Math.random);
    return jobs[0]?.jobId;
  };
  const [first, old, before] = [
    await make.job(acme, { definitionKey: key }),
    await make.job(acme, { definitionKey: key }),
    await make.job(acme, { definitionKey: key }),
  ];
  const hourAgo = async (id: string) => {
    const [made] = await database.query<{ id: string }>(
      "select overlay(app.id_floor(now() - interval '1 hour')::text placing right($1, 12) from 25)::uuid as id",
      [id],
    );
    await database.query("update app.jobs set id = $2 where id = $1", [id, made?.id]);
    await database.query("update app.live_jobs set job_id = $2 where job_id = $1", [id, made?.id]);
    return made?.id ?? "";
  };
  const [oldId, beforeId] = [await hourAgo(old.id), await hourAgo(before.id)];
  await database.query("update app.live_jobs set ready = false where job_id = $1", [beforeId]);
  expect([await next(), await next(), whole]).toEqual([first.id, oldId, 1]);
  const { id } = await make.job(globex, { definitionKey: key });
  expect([await next(), await next(), whole]).toEqual([id, undefined, 1]);
  await database.query("update app.live_jobs set ready = true, sort_key = 1 where job_id = $1", [beforeId]);
  now += 50 * 20 - 1;
  expect([await next(), whole]).toEqual([undefined, 1]);
  now += 1;
  expect([await next(), whole]).toEqual([beforeId, 2]);
});

test("K-2 a claim returns only remote definitions, queues and the tenant in the key's scope", async () => {
  for (const scope of [acme, globex]) {
    await make.job(scope, { definitionKey: "far" });
    await make.job(scope, { definitionKey: "near" });
    await make.job(scope, { definitionKey: "far", queue: "billing-sync" });
  }
  expect((await claim({ definitions: ["near"] })).jobs).toEqual([]);
  expect((await claim({ definitions: [] })).jobs).toEqual([]);
  expect((await claim({ queues: ["analytics-processing"] })).jobs).toEqual([]);
  const tenants = async (scope: object) => (await claim(scope)).jobs.map(({ tenantId }) => tenantId);
  expect(await tenants({ tenantId: acme.tenantId, queues: ["default"] })).toEqual([acme.tenantId]);
  expect(await tenants({ queues: ["default"] })).toEqual([globex.tenantId]);
  expect((await tenants({})).toSorted()).toEqual([acme.tenantId, globex.tenantId].toSorted());
});

test("a lease has the requested length, but at most the definition's", async () => {
  const secondsOf = async (leaseSeconds: number | undefined) => {
    await make.job(acme, { definitionKey: "far" });
    const [job] = (await claim({}, { leaseSeconds })).jobs;
    return job?.leaseSeconds;
  };
  expect([await secondsOf(7), await secondsOf(undefined), await secondsOf(3600)]).toEqual([7, 40, 40]);
});

test("R-1 another key with the correct lease number finds no attempt, neither running nor ended", async () => {
  await make.job(acme, { definitionKey: "far" });
  const [job] = (await claim()).jobs;
  if (!job) throw new Error("nothing was claimed");
  for (const holder of ["remote:key-b:", "remote:key-a:other", "remote:key-_:"]) {
    expect(await findLeasedAttempt(make.worker, holder, job)).toBeNull();
  }
  expect(await findLeasedAttempt(make.worker, HOLDER, { ...job, leaseNo: job.leaseNo + 1 })).toBeNull();
  await settleAttempts(make.worker, [succeeded(job)]);
  expect(await findLeasedAttempt(make.worker, HOLDER, job)).toBeNull();
  expect(await findEndedAttempt(make.worker, HOLDER, job)).toMatchObject({ status: "succeeded", outcome: "succeeded" });
  expect(await findEndedAttempt(make.worker, "remote:key-b:", job)).toBeNull();
});

test("a job of a local worker is never a remote worker's, whatever the worker's name", async () => {
  await make.job(acme, { definitionKey: "near" });
  const [job] = await make.claim("local-worker");
  if (!job) throw new Error("nothing was claimed");
  expect(await findLeasedAttempt(make.worker, HOLDER, job)).toBeNull();
});

test("only the worker of a canceled attempt learns of the cancel", async () => {
  const { id } = await make.job(acme, { definitionKey: "far" });
  const [job] = (await claim()).jobs;
  await database.query("update app.live_jobs set cancel_requested_at = now() where job_id = $1", [id]);
  expect(await canceledAttempts(make.worker, `${HOLDER}w`)).toEqual([{ jobId: id, leaseNo: job?.leaseNo }]);
  expect(await canceledAttempts(make.worker, `${HOLDER}v`)).toEqual([]);
});

test("only lanes of remote definitions are described to waiting claims", async () => {
  const lanes = await database.query<{ lane_no: number; executor: string }>(
    "select lane_no, d.executor from app.lanes l join app.job_definitions d on d.id = l.definition_id where l.tenant_id = $1",
    [acme.tenantId],
  );
  const described = await describeRemoteLanes(
    make.worker,
    lanes.map(({ lane_no }) => lane_no),
  );
  expect(described.map(({ laneNo }) => laneNo).toSorted()).toEqual(
    lanes.flatMap(({ lane_no, executor }) => (executor === "remote" ? [lane_no] : [])).toSorted(),
  );
  expect(described[0]).toMatchObject({ tenantId: acme.tenantId, definitionKey: "far" });
});

test("claims respect limits exactly and return when to try again", async () => {
  await database.query("delete from app.live_jobs");
  await createLimit(make.platform, { scope: "definition", definition_key: "far", max_running: 2 });
  for (let n = 0; n < 4; n += 1) await make.job(acme, { definitionKey: "far" });
  const first = await claim();
  const second = await claim();
  expect([first.jobs.length, second.jobs.length]).toEqual([2, 0]);
  expect(second.retryInMs).toBeLessThanOrEqual(1000);
  await settleAttempts(
    make.worker,
    first.jobs.map((job) => succeeded(job)),
  );
  expect((await claim()).jobs).toHaveLength(2);
});

test("a waiting job has a worker only if one for its tenant, definition and queue is alive", async () => {
  await database.query("delete from app.live_jobs");
  const jobs = [await make.job(acme, { definitionKey: "far" }), await make.job(globex, { definitionKey: "far" })];
  const reasons = async () =>
    Promise.all(
      jobs.map(async (job, n) => (await getJob(make.web, n === 0 ? acme : globex, job.id))?.wait_reason?.code),
    );
  expect(await reasons()).toEqual(["no_worker", "no_worker"]);
  const worker = { ...ABOUT, workerId: `${HOLDER}t`, definitions: ["far"] };
  await recordRemoteWorker(make.worker, HOLDER, { ...worker, tenantId: globex.tenantId });
  expect((await reasons())[0]).toBe("no_worker");
  expect((await reasons())[1]).not.toBe("no_worker");
});

test("a key can register a bounded number of workers", async () => {
  const note = (holder: string, name: string) =>
    recordRemoteWorker(make.worker, holder, {
      ...ABOUT,
      workerId: holder + name,
      definitions: ["far"],
      tenantId: null,
    });
  await database.query(
    `insert into app.job_workers (worker_id, hostname, pid) select 'remote:key-c:' || n, 'h', 1 from generate_series(1, 499) n`,
  );
  expect(await note("remote:key-c:", "last")).toBe(true);
  expect(await note("remote:key-c:", "one-more")).toBe(false);
  expect(await note("remote:key-c:", "last")).toBe(true);
  expect(await note("remote:key-d:", "other")).toBe(true);
});

test.each([true, false])("a run that remote workers release ten times ends (dead letters: %s)", async (deadLetter) => {
  const { key } = await make.definition({ executor: "remote", dead_letter: deadLetter });
  const { id } = await make.job(acme, { definitionKey: key, maxAttempts: 3 });
  // A claim whose response was lost does not count.
  const [unheard] = (await claim({ definitions: [key] })).jobs;
  if (unheard) await settleAttempts(make.worker, [givenBackEnd(unheard)]);
  for (let n = 1; n <= 10; n += 1) {
    const [job] = (await claim({ definitions: [key] })).jobs;
    if (!job) throw new Error(`nothing was claimed in round ${n}`);
    await settleAttempts(make.worker, [await decideGiveBack(make.worker, job, { deadLetter, reason: "leaving" })]);
    const view = await getJob(make.web, acme, id);
    expect([view?.status, view?.attempt_count]).toEqual(
      n < 10 ? ["queued", 0] : [deadLetter ? "dead_letter" : "failed", 0],
    );
  }
});
