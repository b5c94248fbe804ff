import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  changeJob,
  expireJobs,
  getJob,
  pauseJob,
  promoteDueJobs,
  resumeJob,
  retryJob,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const HOUR = 3_600_000;
const soon = (ms: number) => new Date(Date.now() + ms);
const isClaimed = async (jobId: string) => (await make.claim("w")).some((job) => job.jobId === jobId);
const liveRow = async (jobId: string) =>
  (await database.query<Record<string, unknown>>("select * from app.live_jobs where job_id = $1", [jobId]))[0];

describe("pause and resume", () => {
  test("a paused job is not claimed, and resuming restores its position in the lane", async () => {
    const job = await make.job(scope);
    const before = await liveRow(job.id);
    const paused = await pauseJob(make.web, scope, job.id);
    expect(paused).toMatchObject({ status: "paused", wait_reason: { code: "paused" } });
    expect(await isClaimed(job.id)).toBe(false);
    await promoteDueJobs(make.scheduler, { limit: 100 });
    expect(await isClaimed(job.id)).toBe(false);
    expect((await resumeJob(make.web, scope, job.id)).status).toBe("queued");
    expect(await liveRow(job.id)).toEqual(before);
    expect(await isClaimed(job.id)).toBe(true);
  });

  test("after resume a job still waits for its scheduled time or its next attempt", async () => {
    const later = await make.job(scope, { scheduledFor: soon(HOUR) });
    const claimed = await make.runningJob(scope);
    await settleAttempts(make.worker, [retried(claimed, 600)]);
    for (const jobId of [later.id, claimed.jobId]) {
      await pauseJob(make.web, scope, jobId);
      await resumeJob(make.web, scope, jobId);
      expect(await liveRow(jobId)).toMatchObject({ state: "queued", ready: false });
    }
    expect((await getJob(make.web, scope, claimed.jobId))?.wait_reason?.code).toBe("retry_backoff");
    await database.moveClock(2 * HOUR);
    await promoteDueJobs(make.scheduler, { limit: 100 });
    expect((await make.claim("w")).map((job) => job.jobId).sort()).toEqual([later.id, claimed.jobId].sort());
    await database.moveClock(0);
  });

  test("a paused job can be canceled, and expires at its time while it is paused", async () => {
    const job = await make.job(scope);
    await pauseJob(make.web, scope, job.id);
    expect((await cancelJob(make.web, scope, job.id)).status).toBe("canceled");
    const expiring = await make.job(scope, { expiresAt: soon(HOUR) });
    await pauseJob(make.web, scope, expiring.id);
    await database.moveClock(2 * HOUR);
    expect((await expireJobs(make.scheduler, { limit: 100 })).count).toBe(1);
    await database.moveClock(0);
    expect((await getJob(make.web, scope, expiring.id))?.status).toBe("expired");
  });

  test("a blocked job expires at its time, and cannot be paused", async () => {
    const job = await make.job(scope, { expiresAt: soon(HOUR) });
    await database.query("update app.live_jobs set state = 'blocked', ready = false where job_id = $1", [job.id]);
    await expect(pauseJob(make.web, scope, job.id)).rejects.toMatchObject({ current: "blocked" });
    await database.moveClock(2 * HOUR);
    expect((await expireJobs(make.scheduler, { limit: 100 })).count).toBe(1);
    await database.moveClock(0);
    expect((await getJob(make.web, scope, job.id))?.status).toBe("expired");
  });

  test("only queued jobs can be paused and only paused jobs resumed; the error names the current status", async () => {
    const running = await make.runningJob(scope);
    const conflict = (current: string) => ({ code: "state-conflict", current });
    await expect(pauseJob(make.web, scope, running.jobId)).rejects.toMatchObject(conflict("running"));
    await expect(resumeJob(make.web, scope, running.jobId)).rejects.toMatchObject(conflict("running"));
    await settleAttempts(make.worker, [succeeded(running)]);
    await expect(pauseJob(make.web, scope, running.jobId)).rejects.toMatchObject(conflict("succeeded"));
    const job = await make.job(scope);
    await expect(resumeJob(make.web, scope, job.id)).rejects.toMatchObject(conflict("queued"));
    await pauseJob(make.web, scope, job.id);
    await expect(pauseJob(make.web, scope, job.id)).rejects.toMatchObject(conflict("paused"));
  });

  test("of a pause and a claim at the same time exactly one succeeds", async () => {
    for (let round = 0; round < 20; round += 1) {
      const job = await make.job(scope);
      const [paused, claimed] = await Promise.allSettled([pauseJob(make.web, scope, job.id), isClaimed(job.id)]);
      expect(claimed).toEqual({ status: "fulfilled", value: paused.status === "rejected" });
      await cancelJob(make.web, scope, job.id);
    }
  });
});

describe("change", () => {
  test("a new priority moves the job to the lane of its band, keeps its waiting time, and applies to later runs", async () => {
    const job = await make.job(scope, { priority: 100 });
    const before = await liveRow(job.id);
    const changed = await changeJob(make.web, scope, { jobId: job.id, priority: 10 });
    expect(changed.priority).toBe(10);
    const after = await liveRow(job.id);
    expect(after?.lane_no).not.toBe(before?.lane_no);
    expect(Number(before?.sort_key) - Number(after?.sort_key)).toBeCloseTo(90, 6);
    const [lane] = await database.query("select band from app.lanes where lane_no = $1", [after?.lane_no]);
    expect(lane).toEqual({ band: 0 });
    await cancelJob(make.web, scope, job.id);
    expect((await getJob(make.web, scope, job.id))?.priority).toBe(10);
    await retryJob(make.web, scope, { jobId: job.id });
    expect(await liveRow(job.id)).toMatchObject({ priority: 10, lane_no: after?.lane_no });
    await cancelJob(make.web, scope, job.id);
  });

  test("a new time delays the job until then; a past time makes it due at once without extra age", async () => {
    const job = await make.job(scope);
    const later = await changeJob(make.web, scope, { jobId: job.id, scheduled_for: soon(HOUR).toISOString() });
    expect(later.wait_reason?.code).toBe("scheduled");
    expect(await isClaimed(job.id)).toBe(false);
    const now = await changeJob(make.web, scope, { jobId: job.id, scheduled_for: new Date(0).toISOString() });
    expect(now.scheduled_for).toEqual(job.queued_at);
    expect(await isClaimed(job.id)).toBe(true);
  });

  test("the next attempt of a failed job can be brought forward, and a paused job stays paused", async () => {
    const claimed = await make.runningJob(scope);
    await settleAttempts(make.worker, [retried(claimed, 600)]);
    await pauseJob(make.web, scope, claimed.jobId);
    const changed = await changeJob(make.web, scope, {
      jobId: claimed.jobId,
      priority: 1,
      scheduled_for: soon(-1000).toISOString(),
    });
    expect(changed).toMatchObject({ status: "paused", priority: 1 });
    expect(await isClaimed(claimed.jobId)).toBe(false);
    await resumeJob(make.web, scope, claimed.jobId);
    expect(await isClaimed(claimed.jobId)).toBe(true);
  });

  test("a running or ended job cannot be changed, nor can a job get a time after its expiry or an invalid value", async () => {
    const running = await make.runningJob(scope);
    await expect(changeJob(make.web, scope, { jobId: running.jobId, priority: 1 })).rejects.toMatchObject({
      code: "state-conflict",
      current: "running",
    });
    const job = await make.job(scope, { expiresAt: soon(HOUR) });
    await expect(
      changeJob(make.web, scope, { jobId: job.id, scheduled_for: soon(2 * HOUR).toISOString() }),
    ).rejects.toMatchObject({
      code: "invalid-value",
      problems: [{ pointer: "/scheduled_for" }],
    });
    for (const change of [{}, { priority: 0 }, { priority: 1001 }, { priority: 1.5 }, { scheduled_for: "tomorrow" }]) {
      const changing = async () => changeJob(make.web, scope, { jobId: job.id, ...change });
      await expect(changing(), JSON.stringify(change)).rejects.toMatchObject({ code: "invalid-value" });
    }
    expect((await getJob(make.web, scope, job.id))?.scheduled_for).toEqual(job.scheduled_for);
  });
});

test("RLS-1 every action on another tenant's job answers not found and changes nothing", async () => {
  const other = await make.tenant();
  const job = await make.job(scope);
  const before = await liveRow(job.id);
  const verbs = [
    () => pauseJob(make.web, other, job.id),
    () => resumeJob(make.web, other, job.id),
    () => changeJob(make.web, other, { jobId: job.id, priority: 1 }),
  ];
  for (const verb of verbs) await expect(verb()).rejects.toMatchObject({ code: "not-found" });
  expect(await liveRow(job.id)).toEqual(before);
});

test("each change is audited with its actor and the statuses before and after", async () => {
  const actor = { kind: "user", id: scope.tenantId, userId: scope.tenantId, requestId: "r-1" } as const;
  const job = await make.job(scope);
  await pauseJob(make.web, { ...scope, actor }, job.id);
  await changeJob(make.web, { ...scope, actor }, { jobId: job.id, priority: 3 });
  await resumeJob(make.web, { ...scope, actor }, job.id);
  await expect(resumeJob(make.web, { ...scope, actor }, job.id)).rejects.toThrow();
  const rows = await database.query(
    "select action, from_status, to_status, actor_id, request_id from app.job_audit where job_id = $1 order by id",
    [job.id],
  );
  const by = { actor_id: scope.tenantId, request_id: "r-1" };
  expect(rows).toEqual([
    { action: "pause", from_status: "queued", to_status: "paused", ...by },
    { action: "change", from_status: "paused", to_status: "paused", ...by },
    { action: "resume", from_status: "paused", to_status: "queued", ...by },
  ]);
});

test("of concurrent retries one starts a run", async () => {
  const { id: job } = await make.job(scope);
  await cancelJob(make.web, scope, job);
  const tries = await Promise.allSettled(Array.from({ length: 5 }, () => retryJob(make.web, scope, { jobId: job })));
  expect(tries.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  const running = (await make.claim("w")).filter((claimed) => claimed.jobId === job);
  await settleAttempts(make.worker, running.map(succeeded));
  expect((await getJob(make.web, scope, job))?.run_no).toBe(2);
});
