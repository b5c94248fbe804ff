import { afterAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  type Dependency,
  enqueueJob,
  enqueueJobs,
  getJob,
  type NewJob,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue";
import { leaseOf, retried, succeeded } from "@/lib/testing/attempt-ends";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const scope = await make.tenant();
const { key: definitionKey } = await make.definition();

const dead = (claimed: Parameters<typeof leaseOf>[0]) => ({
  ...leaseOf(claimed),
  status: "failed" as const,
  outcome: "dead_letter" as const,
  spent: true,
  errorType: "unknown",
  errorText: "no",
});

async function child(parents: readonly Dependency[], job: Partial<NewJob> = {}, of: TenantScope = scope) {
  return (await enqueueJob(make.web, of, { definitionKey, ...job, dependsOn: parents })).jobId;
}
const see = async (jobId: string) => {
  const job = await getJob(make.web, scope, jobId);
  if (!job) throw new Error("no such job");
  return job;
};
const statusOf = async (jobId: string) => (await see(jobId)).status;

describe("A-04 a job waits for another", () => {
  test("until it succeeded", async () => {
    const parent = await make.runningJob(scope);
    const waiting = await child([{ jobId: parent.jobId }]);
    expect(await statusOf(waiting)).toBe("blocked");
    await settleAttempts(make.worker, [retried(parent, 0)]);
    expect(await statusOf(waiting)).toBe("blocked");
    const again = (await make.claim("w")).find(({ jobId }) => jobId === parent.jobId);
    if (!again) throw new Error("not claimed");
    const settled = await settleAttempts(make.worker, [succeeded(again)]);
    expect(settled.releasedLanes).toHaveLength(1);
    expect(await statusOf(waiting)).toBe("queued");
    expect((await make.claim("w")).map(({ jobId }) => jobId)).toContain(waiting);
  });

  test("and ends with it when it did not succeed: cancel, fail or run", async () => {
    const parent = await make.runningJob(scope);
    const on = [{ jobId: parent.jobId }];
    const canceled = await child(on);
    const failed = await child(on, { onParentFailure: "fail" });
    const runs = await child(on, { onParentFailure: "run" });
    const completion = await child([{ jobId: parent.jobId, type: "completion" }]);
    const grandchild = await child([{ jobId: canceled }]);
    await settleAttempts(make.worker, [dead(parent)]);
    expect(await statusOf(canceled)).toBe("canceled");
    expect(await statusOf(failed)).toBe("failed");
    expect(await statusOf(runs)).toBe("queued");
    expect(await statusOf(completion)).toBe("queued");
    expect(await see(grandchild)).toMatchObject({ status: "canceled", errorType: "parent_failed" });
    await make.claim("w");
  });

  test("that is over already: it is queued, or ended, at once", async () => {
    const parent = await make.runningJob(scope);
    await settleAttempts(make.worker, [succeeded(parent)]);
    const queued = await enqueueJob(make.web, scope, { definitionKey, dependsOn: [{ jobId: parent.jobId }] });
    expect(queued.status).toBe("queued");
    const other = await make.job(scope);
    await cancelJob(make.web, scope, other.id);
    const ended = await enqueueJob(make.web, scope, { definitionKey, dependsOn: [{ jobId: other.id }] });
    expect(ended.status).toBe("canceled");
    await make.claim("w");
  });

  test("of the same bulk by its ref, in whatever order they are given", async () => {
    const [last, first] = await enqueueJobs(make.web, scope, [
      { definitionKey, ref: "last", dependsOn: [{ ref: "first" }] },
      { definitionKey, ref: "first" },
    ]);
    expect([last?.status, first?.status]).toEqual(["blocked", "queued"]);
    expect(String(last?.jobId) > String(first?.jobId)).toBe(true);
    const claimed = (await make.claim("w")).find(({ jobId }) => jobId === first?.jobId);
    if (!claimed) throw new Error("not claimed");
    await settleAttempts(make.worker, [succeeded(claimed)]);
    expect(await statusOf(String(last?.jobId))).toBe("queued");
    await make.claim("w");
  });

  test("of another tenant never: the answer is that of a job that nobody has", async () => {
    const stranger = await make.job(await make.tenant());
    const answers = await Promise.all(
      [stranger.id, "00000000-0000-7000-8000-000000000000"].map((jobId) => child([{ jobId }]).catch((error) => error)),
    );
    for (const answer of answers) {
      expect(answer).toMatchObject({
        code: "invalid-value",
        problems: [{ pointer: "/depends_on/0/job_id", code: "job-unknown" }],
      });
    }
  });
});
