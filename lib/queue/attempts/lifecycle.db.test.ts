import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AttemptEnd,
  appendLogs,
  cancelJob,
  claimJobs,
  enqueueJobs,
  extendLeases,
  getJob,
  listAttempts,
  promoteDueJobs,
  readLogs,
  reportProgress,
  rescueExpiredLeases,
  retryJob,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { leaseOf, retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;

describe("the life of a job", () => {
  test("Z-07 a job goes from queued through running to succeeded, and its attempt records the outcome", async () => {
    const job = await make.job(scope, {
      payload: { a: [1, "x"] },
      tags: ["t"],
      metadata: { m: 1 },
      correlationId: "c-1",
    });
    expect(job).toMatchObject({
      status: "queued",
      attempt_count: 0,
      payload: { a: [1, "x"] },
      wait_reason: { code: "no_worker" },
    });
    const [claimed] = await make.claim("w1");
    expect(claimed).toMatchObject({ jobId: job.id, leaseNo: 1, payload: { a: [1, "x"] } });
    expect(await statusOf(job.id)).toBe("running");
    if (!claimed) return;
    expect(await reportProgress(make.worker, claimed, { percent: 50, message: "half" })).toBe(true);
    expect((await getJob(make.web, scope, job.id))?.progress).toEqual({ percent: 50, message: "half" });
    expect(await appendLogs(make.worker, claimed, [{ seq: 0, stream: "stdout", body: "hello\0" }])).toBe(true);
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).settled).toEqual([job.id]);
    expect(await getJob(make.web, scope, job.id)).toMatchObject({
      status: "succeeded",
      result: { ok: true },
      attempt_count: 1,
    });
    expect(await listAttempts(make.web, scope, job.id)).toMatchObject([
      { attempt_no: 1, status: "succeeded", worker_id: "w1" },
    ]);
    expect((await readLogs(make.web, scope, job.id))?.lines).toMatchObject([{ stream: "stdout", body: "hello\ufffd" }]);
  });

  test("LEASE-01 a worker whose lease was rescued cannot complete, fail, log to, extend or report on the job", async () => {
    const claimed = await make.runningJob(scope);
    await database.moveClock(31_000);
    expect(await rescueExpiredLeases(make.scheduler, { limit: 10, random: () => 0 })).toMatchObject({
      rescued: 1,
      ended: 0,
    });
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).lost).toEqual([claimed.jobId]);
    expect((await settleAttempts(make.worker, [retried(claimed, 0)])).lost).toEqual([claimed.jobId]);
    expect(await appendLogs(make.worker, claimed, [{ seq: 9, stream: "log", body: "late" }])).toBe(false);
    expect(await reportProgress(make.worker, claimed, { percent: 1 })).toBe(false);
    expect((await extendLeases(make.worker, [{ ...claimed, leaseSeconds: 30 }])).lost).toEqual([claimed.jobId]);
    const job = await getJob(make.web, scope, claimed.jobId);
    expect(job).toMatchObject({ status: "queued", attempt_count: 1, error_type: "worker_lost" });
    const [again] = await make.claim("w2");
    expect(again?.leaseNo).toBe(2);
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).lost).toEqual([claimed.jobId]);
    if (again) await settleAttempts(make.worker, [succeeded(again)]);
    expect((await listAttempts(make.web, scope, claimed.jobId))?.map((a) => a.status)).toEqual([
      "succeeded",
      "worker_lost",
    ]);
    await database.moveClock(0);
  });

  test("an end after the lease expired is accepted until the job is rescued", async () => {
    const claimed = await make.runningJob(scope);
    await database.moveClock(60_000);
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).settled).toEqual([claimed.jobId]);
    await database.moveClock(0);
  });

  test("LEASE-03 the rescue leaves a job alone that was renewed between its read and its write", async () => {
    const claimed = await make.runningJob(scope);
    await database.moveClock(31_000);
    await make.worker.transaction(async (tx) => {
      await extendLeases(tx, [{ ...claimed, leaseSeconds: 30 }]);
      // The renewal is not committed yet. The rescuer sees the old row, but the row is locked.
      expect((await rescueExpiredLeases(make.scheduler, { limit: 10, random: () => 0 })).rescued).toBe(0);
    });
    expect((await rescueExpiredLeases(make.scheduler, { limit: 10, random: () => 0 })).rescued).toBe(0);
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).settled).toHaveLength(1);
    await database.moveClock(0);
  });

  test("Z-08 a failed attempt waits for its retry, is promoted when due, and ends in dead_letter", async () => {
    const claimed = await make.runningJob(scope, { maxAttempts: 2 });
    expect((await settleAttempts(make.worker, [retried(claimed, 60)])).settled).toHaveLength(1);
    expect(await getJob(make.web, scope, claimed.jobId)).toMatchObject({
      status: "queued",
      attempt_count: 1,
      last_error: "no",
      wait_reason: { code: "retry_backoff" },
    });
    expect(await make.claim("w1")).toEqual([]);
    expect((await promoteDueJobs(make.scheduler, { limit: 10 })).count).toBe(0);
    await database.moveClock(61_000);
    expect((await promoteDueJobs(make.worker, { limit: 10 })).count).toBe(1);
    const [again] = await make.claim("w1");
    if (!again) throw new Error("not claimed");
    expect(again.attemptsSpent).toBe(1);
    const end: AttemptEnd = {
      ...leaseOf(again),
      status: "failed",
      outcome: "dead_letter",
      spent: true,
      errorText: "still no",
    };
    await settleAttempts(make.worker, [end]);
    expect(await getJob(make.web, scope, claimed.jobId)).toMatchObject({
      status: "dead_letter",
      attempt_count: 2,
      last_error: "still no",
    });
    await database.moveClock(0);
  });

  test("Z-04 retry starts a new run of the same job with rising lease numbers and a fresh budget", async () => {
    const claimed = await make.runningJob(scope, { dedupeKey: "again" });
    await settleAttempts(make.worker, [{ ...leaseOf(claimed), status: "failed", outcome: "dead_letter", spent: true }]);
    const { job, created } = await retryJob(make.web, scope, { jobId: claimed.jobId });
    expect(created).toBe(false);
    expect(job).toMatchObject({ id: claimed.jobId, status: "queued", run_no: 2, attempt_count: 0, finished_at: null });
    await expect(retryJob(make.web, scope, { jobId: claimed.jobId })).rejects.toMatchObject({
      code: "state-conflict",
      current: "queued",
    });
    await expect(make.job(scope, { dedupeKey: "again" })).resolves.toMatchObject({ id: claimed.jobId });
    const [again] = await make.claim("w1");
    expect(again).toMatchObject({ leaseNo: 2, runNo: 2, attemptsSpent: 0 });
    if (again) await settleAttempts(make.worker, [succeeded(again)]);
    await expect(retryJob(make.web, scope, { jobId: claimed.jobId })).rejects.toMatchObject({ current: "succeeded" });
    await make.job(scope, { dedupeKey: "again" }).then((job) => expect(job.id).not.toBe(claimed.jobId));
    for (const left of await make.claim("w1")) await settleAttempts(make.worker, [succeeded(left)]);
  });

  test("a retry with an edited payload creates a new job that refers to the old one", async () => {
    const claimed = await make.runningJob(scope, { payload: { n: 1 } });
    await settleAttempts(make.worker, [{ ...leaseOf(claimed), status: "failed", outcome: "failed", spent: true }]);
    const { job, created } = await retryJob(make.web, scope, { jobId: claimed.jobId, payload: { n: 2 } });
    expect(created).toBe(true);
    expect(job).toMatchObject({ retried_from_id: claimed.jobId, payload: { n: 2 }, status: "queued" });
    expect(await statusOf(claimed.jobId)).toBe("failed");
    const again = retryJob(make.web, scope, { jobId: job.id, payload: { n: 3 } });
    await expect(again).rejects.toThrow("The job is queued and has not ended.");
    await cancelJob(make.web, scope, job.id);
  });

  test("an error about a conflict names the status, for every action", async () => {
    const claimed = await make.runningJob(scope);
    await settleAttempts(make.worker, [succeeded(claimed)]);
    const { jobId } = claimed;
    await expect(retryJob(make.web, scope, { jobId, payload: {} })).rejects.toThrow(
      "The job is succeeded and cannot be retried with another payload.",
    );
    await expect(retryJob(make.web, scope, { jobId })).rejects.toThrow("The job is succeeded and cannot be retried.");
    await expect(cancelJob(make.web, scope, jobId)).rejects.toThrow("The job has ended: succeeded.");
  });
});

test("a row that the database refuses does not keep the others of its batch from being settled", async () => {
  const one = await make.runningJob(scope);
  const two = await make.runningJob(scope);
  const poison: AttemptEnd = { ...succeeded(one), output: { pid: 2 ** 40 } };
  expect((await settleAttempts(make.worker, [poison, succeeded(two)])).settled.toSorted()).toEqual(
    [one.jobId, two.jobId].sort(),
  );
  expect(await statusOf(one.jobId)).toBe("succeeded");
});

test("concurrent claims never return the same job", async () => {
  const own = await make.tenant();
  const { key } = await make.definition();
  await enqueueJobs(
    make.web,
    own,
    Array.from({ length: 200 }, () => ({ definitionKey: key })),
  );
  const batches = await Promise.all(Array.from({ length: 8 }, (_, n) => make.claim(`w${n}`, 60)));
  const ids = batches.flat().map((job) => job.jobId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await claimJobs(make.worker, { workerId: "w", lanes: [], limit: 5 })).toEqual([]);
});

test("a job snoozed after a failed attempt does not show the failure as its wait reason", async () => {
  const scope = await make.tenant();
  const first = await make.runningJob(scope);
  await settleAttempts(make.worker, [retried(first, 0)]);
  const again = (await make.claim("w")).find(({ jobId }) => jobId === first.jobId);
  if (!again) throw new Error("not claimed");
  const putOff = { ...leaseOf(again), status: "snoozed", spent: false, retryInSeconds: 600 } as const;
  await settleAttempts(make.worker, [putOff]);
  expect(await getJob(make.web, scope, first.jobId)).toMatchObject({
    attempt_count: 1,
    wait_reason: { code: "scheduled", detail: "Its last attempt snoozed it." },
  });
});
