import { afterAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  enqueueJob,
  enqueueJobs,
  expireJobs,
  listDependencies,
  retryJob,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, child, see, statusOf, succeed } = await makeLinkedJobs(database);
afterAll(() => make.close());

describe("A-04 ends and retries", () => {
  test("canceling or expiring a blocked job releases its children and does not affect its parent", async () => {
    const parent = await make.runningJob(scope);
    const canceled = await child([{ jobId: parent.jobId }]);
    const expired = await child([{ jobId: parent.jobId }], { expiresAt: new Date(Date.now() + 1000) });
    const [ofCanceled, ofExpired] = [
      await child([{ jobId: canceled }]),
      await child([{ jobId: expired, type: "completion" }]),
    ];
    await cancelJob(make.web, scope, canceled);
    await database.query("update app.live_jobs set expires_at = now() where job_id = $1", [expired]);
    await expireJobs(make.scheduler, { limit: 10 });
    expect(await Promise.all([canceled, expired, ofCanceled, ofExpired].map(statusOf))).toEqual([
      "canceled",
      "expired",
      "canceled",
      "queued",
    ]);
    await settleAttempts(make.worker, [succeeded(parent)]);
    expect(await Promise.all([canceled, expired].map(statusOf))).toEqual(["canceled", "expired"]);
    await make.claim("w");
  });

  test("a child that ended with its parent is blocked again when it is retried, and never runs before the parent", async () => {
    const parent = await make.runningJob(scope);
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], { payload: ["{{parents.p.result}}"] });
    await settleAttempts(make.worker, [dead(parent)]);
    await expect(retryJob(make.web, scope, { jobId })).rejects.toMatchObject({
      code: "state-conflict",
      current: "canceled",
    });
    expect(await see(jobId)).toMatchObject({ status: "canceled", run_no: 1 });
    await retryJob(make.web, scope, { jobId: parent.jobId });
    expect(await statusOf(jobId)).toBe("canceled");
    expect((await retryJob(make.web, scope, { jobId })).job.status).toBe("blocked");
    await succeed(parent.jobId, "late");
    expect(await see(jobId)).toMatchObject({ status: "queued", payload: ["late"], run_no: 2 });
    await make.claim("w");
  });

  test("a retry with a payload creates a new job without dependencies", async () => {
    const parent = await make.job(scope);
    const jobId = await child([{ jobId: parent.id }]);
    await cancelJob(make.web, scope, parent.id);
    const { job } = await retryJob(make.web, scope, { jobId, payload: {} });
    expect(job.status).toBe("queued");
    await make.claim("w");
  });

  test("parents and children can be read from both sides, by their tenant only", async () => {
    const parent = await make.job(scope);
    const condition = { path: "result.n", op: "gt", value: 1 } as const;
    const jobId = await child([{ jobId: parent.id, type: "conditional", condition, as: "p" }], {
      onParentFailure: "fail",
    });
    const edge = { definitionKey, type: "conditional", condition, as: "p", state: "pending", onParentFailure: "fail" };
    const read = (id: string, of = scope) => listDependencies(make.web, of, { jobId: id, limit: 10 });
    expect(await read(parent.id)).toEqual({
      parents: [],
      children: [{ ...edge, job_id: jobId, edge_no: 1, status: "blocked" }],
      has_more_children: false,
    });
    expect((await read(jobId))?.parents).toMatchObject([
      { ...edge, definition_key: parent.definition_key, job_id: parent.id },
    ]);
    expect(await read(jobId, await make.tenant())).toBeNull();
    await cancelJob(make.web, scope, parent.id);
    expect((await read(jobId))?.parents).toMatchObject([{ status: "canceled", state: "failed" }]);
    expect(await statusOf(jobId)).toBe("failed");
  });

  test("a job that ends with its parent frees its dedupe key, and a child of a duplicate depends on the holder", async () => {
    const parent = await make.job(scope);
    const jobId = await child([{ jobId: parent.id }], { dedupeKey: "once" });
    const [held, waiter] = await enqueueJobs(make.web, scope, [
      { definitionKey, ref: "twin", dedupeKey: "once" },
      { definitionKey, dependsOn: [{ ref: "twin" }] },
    ]);
    expect(held).toMatchObject({ jobId, deduplicated: true, status: "blocked" });
    await cancelJob(make.web, scope, parent.id);
    expect(await statusOf(String(waiter?.jobId))).toBe("canceled");
    expect(await enqueueJob(make.web, scope, { definitionKey, dedupeKey: "once" })).toMatchObject({
      deduplicated: false,
    });
    await make.claim("w");
  });
});
