import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AttemptEnd,
  appendLogs,
  type ClaimedJob,
  cancelJob,
  claimJobs,
  enqueueJob,
  enqueueJobs,
  expireJobs,
  extendLeases,
  foldStatDeltas,
  getJob,
  listAttempts,
  listJobs,
  promoteDueJobs,
  readLogs,
  reportProgress,
  rescueExpiredLeases,
  retryJob,
  settleAttempts,
  summarizeJobs,
  type TenantScope,
  updateDefinition,
} from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const leaseOf = ({ jobId, leaseNo, tenantId }: ClaimedJob) => ({ jobId, leaseNo, tenantId });
const succeeded = (claimed: ClaimedJob, result: unknown = { ok: true }): AttemptEnd => ({
  ...leaseOf(claimed),
  status: "succeeded",
  outcome: "succeeded",
  spent: true,
  result,
});
const retried = (claimed: ClaimedJob, retryInSeconds: number): AttemptEnd => ({
  ...leaseOf(claimed),
  status: "failed",
  retryInSeconds,
  spent: true,
  errorType: "unknown",
  errorText: "no",
});
const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;

describe("the life of a job", () => {
  test("Z-07 a job goes from queued over running to succeeded, and its attempt carries the outcome", async () => {
    const job = await make.job(scope, {
      payload: { a: [1, "x"] },
      tags: ["t"],
      metadata: { m: 1 },
      correlationId: "c-1",
    });
    expect(job).toMatchObject({
      status: "queued",
      attemptCount: 0,
      payload: { a: [1, "x"] },
      waitReason: { code: "no_worker" },
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
      attemptCount: 1,
    });
    expect(await listAttempts(make.web, scope, job.id)).toMatchObject([
      { attemptNo: 1, status: "succeeded", workerId: "w1" },
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
    expect(job).toMatchObject({ status: "queued", attemptCount: 1, errorType: "worker_lost" });
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

  test("a settle after the lease ran out is good as long as nobody reclaimed the job", async () => {
    const claimed = await make.runningJob(scope);
    await database.moveClock(60_000);
    expect((await settleAttempts(make.worker, [succeeded(claimed)])).settled).toEqual([claimed.jobId]);
    await database.moveClock(0);
  });

  test("LEASE-03 the rescuer leaves a job alone that was renewed between its look and its write", async () => {
    const claimed = await make.runningJob(scope);
    await database.moveClock(31_000);
    await make.worker.transaction(async (tx) => {
      await extendLeases(tx, [{ ...claimed, leaseSeconds: 30 }]);
      // The renewal is not committed yet: the rescuer sees the old row, but it is locked.
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
      attemptCount: 1,
      lastError: "no",
      waitReason: { code: "retry_backoff" },
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
      attemptCount: 2,
      lastError: "still no",
    });
    await database.moveClock(0);
  });

  test("Z-04 retry starts a new run of the same job with rising lease numbers and a fresh budget", async () => {
    const claimed = await make.runningJob(scope, { dedupeKey: "again" });
    await settleAttempts(make.worker, [{ ...leaseOf(claimed), status: "failed", outcome: "dead_letter", spent: true }]);
    const { job, created } = await retryJob(make.web, scope, { jobId: claimed.jobId });
    expect(created).toBe(false);
    expect(job).toMatchObject({ id: claimed.jobId, status: "queued", runNo: 2, attemptCount: 0, finishedAt: null });
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

  test("a retry with an edited payload makes a new job that names the old one", async () => {
    const claimed = await make.runningJob(scope, { payload: { n: 1 } });
    await settleAttempts(make.worker, [{ ...leaseOf(claimed), status: "failed", outcome: "failed", spent: true }]);
    const { job, created } = await retryJob(make.web, scope, { jobId: claimed.jobId, payload: { n: 2 } });
    expect(created).toBe(true);
    expect(job).toMatchObject({ retriedFromId: claimed.jobId, payload: { n: 2 }, status: "queued" });
    expect(await statusOf(claimed.jobId)).toBe("failed");
    await cancelJob(make.web, scope, job.id);
  });
});

describe("cancel", () => {
  test("a waiting job ends at once, and cancelling it again is a conflict", async () => {
    const job = await make.job(scope, { dedupeKey: "c" });
    expect(await cancelJob(make.web, scope, job.id)).toMatchObject({ status: "canceled", attemptCount: 0 });
    await expect(cancelJob(make.web, scope, job.id)).rejects.toMatchObject({
      code: "state-conflict",
      current: "canceled",
    });
    expect(await listAttempts(make.web, scope, job.id)).toEqual([]);
    const next = await make.job(scope, { dedupeKey: "c" });
    expect(next.id).not.toBe(job.id);
    await cancelJob(make.web, scope, next.id);
    expect((await retryJob(make.web, scope, { jobId: job.id })).job.status).toBe("queued");
    await cancelJob(make.web, scope, job.id);
  });

  test("a running job is asked to stop, and a failure after that ends it as canceled instead of retrying it", async () => {
    const claimed = await make.runningJob(scope);
    expect((await cancelJob(make.web, scope, claimed.jobId)).cancelRequestedAt).toBeInstanceOf(Date);
    expect((await extendLeases(make.worker, [{ ...claimed, leaseSeconds: 30 }])).cancelRequested).toEqual([
      claimed.jobId,
    ]);
    expect((await settleAttempts(make.worker, [retried(claimed, 5)])).canceled).toEqual([claimed.jobId]);
    expect(await statusOf(claimed.jobId)).toBe("canceled");
  });

  test("another tenant's job is not found, for reading and for every verb", async () => {
    const other = await make.tenant();
    const job = await make.job(scope);
    expect(await getJob(make.web, other, job.id)).toBeNull();
    await expect(cancelJob(make.web, other, job.id)).rejects.toMatchObject({ code: "not-found" });
    await expect(retryJob(make.web, other, { jobId: job.id })).rejects.toMatchObject({ code: "not-found" });
    expect(await listAttempts(make.web, other, job.id)).toBeNull();
    expect(await readLogs(make.web, other, job.id)).toBeNull();
    await cancelJob(make.web, scope, job.id);
  });
});

describe("enqueue", () => {
  test("Z-10 fifty parallel callers with one dedupe key make one job", async () => {
    const { key } = await make.definition();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => enqueueJob(make.web, scope, { definitionKey: key, dedupeKey: "race" })),
    );
    expect(new Set(answers.map((answer) => answer.jobId)).size).toBe(1);
    expect(answers.filter((answer) => !answer.deduplicated)).toHaveLength(1);
    await cancelJob(make.web, scope, answers[0]?.jobId ?? "");
  });

  test("LEASE-18 two bulks with the same keys in opposite order do not deadlock", async () => {
    const { key } = await make.definition();
    const jobs = Array.from({ length: 100 }, (_, n) => ({ definitionKey: key, dedupeKey: `bulk-${n}` }));
    const [one, two] = await Promise.all([
      enqueueJobs(make.web, scope, jobs),
      enqueueJobs(make.web, scope, [...jobs].reverse()),
    ]);
    expect(one?.map((e) => e.jobId)).toEqual([...(two ?? [])].reverse().map((e) => e.jobId));
  });

  test("a definition changed or switched off since it was read is noticed at the door", async () => {
    const definition = await make.definition({ argSchema: { type: "object" } });
    await enqueueJob(make.web, scope, { definitionKey: definition.key, payload: {} });
    const patch = { argSchema: { type: "object", required: ["n"] } };
    await updateDefinition(make.platform, scope.actor, { id: definition.id, patch });
    await expect(enqueueJob(make.web, scope, { definitionKey: definition.key, payload: {} })).rejects.toMatchObject({
      code: "payload-invalid",
      problems: [{ pointer: "/payload/n" }],
    });
    await updateDefinition(make.platform, scope.actor, { id: definition.id, patch: { isActive: false } });
    await expect(
      enqueueJob(make.web, scope, { definitionKey: definition.key, payload: { n: 1 } }),
    ).rejects.toMatchObject({
      code: "definition-inactive",
    });
  });

  test("P-03 a job that waits past its expires_at ends as expired", async () => {
    const job = await make.job(scope, { expiresAt: new Date(Date.now() + 60_000) });
    expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(0);
    await database.moveClock(61_000);
    expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(1);
    expect(await statusOf(job.id)).toBe("expired");
    await database.moveClock(0);
  });
});

describe("reading", () => {
  test("Z-04 lists page by keyset without gaps or doubles, filter by every status, and count", async () => {
    const own = await make.tenant();
    const { key } = await make.definition();
    const made = await enqueueJobs(
      make.web,
      own,
      Array.from({ length: 25 }, () => ({ definitionKey: key, tags: ["x"] })),
    );
    const seen: string[] = [];
    for (let afterId: string | undefined; ; ) {
      const page = await listJobs(
        make.web,
        own,
        { definitionKey: key },
        { limit: 10, ...(afterId ? { afterId } : {}) },
      );
      seen.push(...page.jobs.map((job) => job.id));
      expect(page).toMatchObject({ total: 25, totalRelation: "eq" });
      afterId = page.jobs.at(-1)?.id;
      if (!page.hasMore) break;
    }
    expect(seen).toEqual(
      made
        .map((e) => e.jobId)
        .sort()
        .reverse(),
    );
    for (const status of [
      "queued",
      "running",
      "blocked",
      "paused",
      "succeeded",
      "failed",
      "dead_letter",
      "canceled",
      "expired",
    ] as const) {
      const page = await listJobs(make.web, own, { status: [status] }, { limit: 5 });
      expect(page.total, status).toBe(status === "queued" ? 25 : 0);
    }
    await cancelJob(make.web, own, seen[0] ?? "");
    expect((await listJobs(make.web, own, { status: ["canceled", "failed"] }, { limit: 5 })).jobs).toMatchObject([
      { id: seen[0] },
    ]);
    expect(
      (await listJobs(make.web, own, { tag: "x", source: ["manual"], queue: "default" }, { limit: 5, offset: 20 }))
        .jobs,
    ).toHaveLength(5);
    expect((await listJobs(make.web, own, { q: key.slice(0, 6) }, { limit: 5 })).total).toBe(25);
    expect((await listJobs(make.web, own, { q: seen[3] ?? "" }, { limit: 5 })).total).toBe(1);
    expect((await listJobs(make.web, own, { q: "nothing-such" }, { limit: 5 })).total).toBe(0);
    expect((await listJobs(make.web, own, { createdAfter: new Date(Date.now() + 1000) }, { limit: 5 })).total).toBe(0);
  });

  test("figures are the same before and after they were folded", async () => {
    const own = await make.tenant();
    const jobs = [
      await make.job(own),
      await make.job(own),
      await make.job(own, { scheduledFor: new Date(Date.now() + 3_600_000) }),
    ];
    await cancelJob(make.web, own, jobs[0]?.id ?? "");
    const before = await summarizeJobs(make.web, own);
    expect(before.counts).toMatchObject({ queued: 2, canceled: 1, running: 0 });
    while ((await foldStatDeltas(make.scheduler)) > 0);
    expect((await summarizeJobs(make.web, own)).counts).toEqual(before.counts);
    const live = await database.query("select count(*)::int as n from app.live_jobs where tenant_id = $1", [
      own.tenantId,
    ]);
    const total = await database.query("select sum(n)::int as n from app.live_totals where tenant_id = $1", [
      own.tenantId,
    ]);
    expect(total).toEqual(live);
  });
});

test("one row that the database refuses does not keep the others of its batch from being settled", async () => {
  const one = await make.runningJob(scope);
  const two = await make.runningJob(scope);
  const poison: AttemptEnd = { ...succeeded(one), output: { pid: 2 ** 40 } };
  expect((await settleAttempts(make.worker, [poison, succeeded(two)])).settled.toSorted()).toEqual(
    [one.jobId, two.jobId].sort(),
  );
  expect(await statusOf(one.jobId)).toBe("succeeded");
});

test("two claimers never get the same job", async () => {
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
