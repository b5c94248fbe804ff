import { afterAll, expect, test } from "vitest";
import { createLimit, FairShare, getJob, releasedEnd } from "@/lib/queue";
import { succeeded } from "@/lib/testing/attempt-ends";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { startAttempts } from "./claim-jobs";
import { canceledAttempts } from "./hold-leases";
import {
  claimRemoteJobs,
  decideRelease,
  describeRemoteLanes,
  findEndedAttempt,
  findHeldAttempt,
  noteRemoteWorker,
} from "./remote-work";
import { settleAttempts } from "./settle-attempts";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
const far = await make.definition({ key: "far", executor: "remote", leaseSeconds: 40 });
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
      ...more,
    },
    Math.random,
  );

test("what a heartbeat finds of a job is what the claim gave, but for the payload", async () => {
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
  const held = await findHeldAttempt(make.worker, HOLDER, job);
  expect(held).toMatchObject({ workerId: `${HOLDER}w`, cancelRequested: false, runningSeconds: expect.any(Number) });
  expect(held?.job).toEqual({ ...job, payload: null, started: true });
});

test("K-2 only remote definitions, and only those, the queues and the tenant of the scope", async () => {
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

test("a lease is as long as was wished for, but never longer than the definition's", async () => {
  const secondsOf = async (leaseSeconds: number | undefined) => {
    await make.job(acme, { definitionKey: "far" });
    const [job] = (await claim({}, { leaseSeconds })).jobs;
    return job && (job.leaseExpiresAt.getTime() - job.claimedAt.getTime()) / 1000;
  };
  expect([await secondsOf(7), await secondsOf(undefined), await secondsOf(3600)]).toEqual([7, 40, 40]);
});

test("R-1 a right number in the wrong hands finds nothing, neither while the attempt runs nor after", async () => {
  await make.job(acme, { definitionKey: "far" });
  const [job] = (await claim()).jobs;
  if (!job) throw new Error("nothing was claimed");
  for (const holder of ["remote:key-b:", "remote:key-a:other", "remote:key-_:"]) {
    expect(await findHeldAttempt(make.worker, holder, job)).toBeNull();
  }
  expect(await findHeldAttempt(make.worker, HOLDER, { ...job, leaseNo: job.leaseNo + 1 })).toBeNull();
  await settleAttempts(make.worker, [succeeded(job)]);
  expect(await findHeldAttempt(make.worker, HOLDER, job)).toBeNull();
  expect(await findEndedAttempt(make.worker, HOLDER, job)).toMatchObject({ status: "succeeded", outcome: "succeeded" });
  expect(await findEndedAttempt(make.worker, "remote:key-b:", job)).toBeNull();
});

test("a job of a local worker is no remote worker's, whatever it is called", async () => {
  await make.job(acme, { definitionKey: "near" });
  const [job] = await make.claim("local-worker");
  if (!job) throw new Error("nothing was claimed");
  expect(await findHeldAttempt(make.worker, HOLDER, job)).toBeNull();
});

test("a canceled attempt is told to its worker alone", async () => {
  const { id } = await make.job(acme, { definitionKey: "far" });
  const [job] = (await claim()).jobs;
  await database.query("update app.live_jobs set cancel_requested_at = now() where job_id = $1", [id]);
  expect(await canceledAttempts(make.worker, `${HOLDER}w`)).toEqual([{ jobId: id, leaseNo: job?.leaseNo }]);
  expect(await canceledAttempts(make.worker, `${HOLDER}v`)).toEqual([]);
});

test("a lane tells whoever waits what it holds, if it is a remote one", async () => {
  const lanes = await database.query<{ lane_no: number; key: string }>(
    "select lane_no, d.key from app.lanes l join app.job_definitions d on d.id = l.definition_id where l.tenant_id = $1",
    [acme.tenantId],
  );
  const described = await describeRemoteLanes(
    make.worker,
    lanes.map(({ lane_no }) => lane_no),
  );
  expect(described.map(({ laneNo }) => laneNo).toSorted()).toEqual(
    lanes.flatMap(({ lane_no, key }) => (key === far.key ? [lane_no] : [])).toSorted(),
  );
  expect(described[0]).toMatchObject({ tenantId: acme.tenantId, definitionKey: "far" });
});

test("claims keep exact limits, and say when to look again", async () => {
  await database.query("delete from app.live_jobs");
  await createLimit(make.platform, { scope: "definition", definitionKey: "far", maxRunning: 2 });
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

test("a waiting job has a worker only where one of its tenant, definition and queue lives", async () => {
  await database.query("delete from app.live_jobs");
  const jobs = [await make.job(acme, { definitionKey: "far" }), await make.job(globex, { definitionKey: "far" })];
  const reasons = async () =>
    Promise.all(
      jobs.map(async (job, n) => (await getJob(make.web, n === 0 ? acme : globex, job.id))?.waitReason?.code),
    );
  expect(await reasons()).toEqual(["no_worker", "no_worker"]);
  const worker = { ...ABOUT, workerId: `${HOLDER}t`, definitions: ["far"] };
  await noteRemoteWorker(make.worker, HOLDER, { ...worker, tenantId: globex.tenantId });
  expect((await reasons())[0]).toBe("no_worker");
  expect((await reasons())[1]).not.toBe("no_worker");
});

test("a key cannot fill the list of workers", async () => {
  const note = (holder: string, name: string) =>
    noteRemoteWorker(make.worker, holder, { ...ABOUT, workerId: holder + name, definitions: ["far"], tenantId: null });
  await database.query(
    `insert into app.job_workers (worker_id, hostname, pid) select 'remote:key-c:' || n, 'h', 1 from generate_series(1, 499) n`,
  );
  expect(await note("remote:key-c:", "last")).toBe(true);
  expect(await note("remote:key-c:", "one-more")).toBe(false);
  expect(await note("remote:key-c:", "last")).toBe(true);
  expect(await note("remote:key-d:", "other")).toBe(true);
});

test.each([true, false])(
  "a run that remote workers give back ten times ends (dead letters: %s)",
  async (deadLetter) => {
    const { key } = await make.definition({ executor: "remote", deadLetter });
    const { id } = await make.job(acme, { definitionKey: key, maxAttempts: 3 });
    // A hand-out whose answer was lost does not count.
    const [unheard] = (await claim({ definitions: [key] })).jobs;
    if (unheard) await settleAttempts(make.worker, [releasedEnd(unheard)]);
    for (let n = 1; n <= 10; n += 1) {
      const [job] = (await claim({ definitions: [key] })).jobs;
      if (!job) throw new Error(`nothing was claimed in round ${n}`);
      await settleAttempts(make.worker, [await decideRelease(make.worker, job, { deadLetter, reason: "leaving" })]);
      const view = await getJob(make.web, acme, id);
      expect([view?.status, view?.attemptCount]).toEqual(
        n < 10 ? ["queued", 0] : [deadLetter ? "dead_letter" : "failed", 0],
      );
    }
  },
);
