import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  extendLeases,
  getJob,
  listAttempts,
  readLogs,
  retryJob,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;

describe("cancel", () => {
  test("a waiting job ends at once, and canceling it again is a conflict", async () => {
    const job = await make.job(scope, { dedupeKey: "c" });
    expect(await cancelJob(make.web, scope, job.id)).toMatchObject({ status: "canceled", attempt_count: 0 });
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

  test("a running job is asked to stop, and a failure after that ends it as canceled without a retry", async () => {
    const claimed = await make.runningJob(scope);
    expect((await cancelJob(make.web, scope, claimed.jobId)).cancel_requested_at).toBeInstanceOf(Date);
    expect((await extendLeases(make.worker, [{ ...claimed, leaseSeconds: 30 }])).cancelRequested).toEqual([
      claimed.jobId,
    ]);
    expect((await settleAttempts(make.worker, [retried(claimed, 5)])).canceled).toEqual([claimed.jobId]);
    expect(await statusOf(claimed.jobId)).toBe("canceled");
  });

  test("another tenant's job is not found, for reading and for every action", async () => {
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
