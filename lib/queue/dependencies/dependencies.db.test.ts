import { afterAll, describe, expect, test } from "vitest";
import { cancelJob, enqueueJob, enqueueJobs, settleAttempts, sweepDependents } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, child, see, statusOf, succeed } = await makeLinkedJobs(database);
afterAll(() => make.close());

describe("A-04 a job that depends on another", () => {
  test("is blocked until its parent succeeds", async () => {
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

  test("ends with a parent that does not succeed: cancel, fail or run", async () => {
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
    expect(await see(grandchild)).toMatchObject({ status: "canceled", error_type: "parent_failed" });
    await make.claim("w");
  });

  test("is queued or ended at once when the parent has ended already", async () => {
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

  test("can name its parent by a ref of the same bulk, in any order", async () => {
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

  test("cannot depend on another tenant's job, which answers like an absent one", async () => {
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

describe("A-04 shapes", () => {
  test("a diamond runs its last job once, after both sides", async () => {
    const [top, left, right, end] = await enqueueJobs(make.web, scope, [
      { definitionKey, ref: "top" },
      { definitionKey, ref: "left", dependsOn: [{ ref: "top" }] },
      { definitionKey, ref: "right", dependsOn: [{ ref: "top" }] },
      { definitionKey, ref: "end", dependsOn: [{ ref: "left" }, { ref: "right" }] },
    ]);
    const ids = [top, left, right, end].map((one) => String(one?.jobId));
    await succeed(String(ids[0]));
    const sides = await make.claim("w");
    expect(sides.map(({ jobId }) => jobId).sort()).toEqual([ids[1], ids[2]].sort());
    const [one, other] = sides.map((claimed) => succeeded(claimed));
    if (!one || !other) throw new Error("not claimed");
    await settleAttempts(make.worker, [one]);
    expect(await see(String(ids[3]))).toMatchObject({ status: "blocked", wait_reason: { code: "blocked" } });
    expect((await see(String(ids[3]))).wait_reason?.detail).toBe(`Waits for ${definitionKey} (${other.jobId}).`);
    await settleAttempts(make.worker, [other]);
    await succeed(String(ids[3]));
    expect(await statusOf(String(ids[3]))).toBe("succeeded");
  });

  test("500 children of one parent, and one child of 500 parents", async () => {
    const sides = Array.from({ length: 500 }, (_job, index) => `side-${index}`);
    const jobs = await enqueueJobs(make.web, scope, [
      { definitionKey, ref: "start" },
      ...sides.map((ref) => ({ definitionKey, ref, dependsOn: [{ ref: "start" }] })),
      { definitionKey, dependsOn: sides.map((ref) => ({ ref })) },
    ]);
    await succeed(String(jobs[0]?.jobId));
    const claimed = await make.claim("w", 500);
    expect(claimed).toHaveLength(500);
    await Promise.all([
      settleAttempts(
        make.worker,
        claimed.slice(0, 250).map((one) => succeeded(one)),
      ),
      settleAttempts(
        make.worker,
        claimed.slice(250).map((one) => succeeded(one)),
      ),
    ]);
    await succeed(String(jobs.at(-1)?.jobId));
  });

  test("when the first job of a chain of 1,000 ends, all are canceled and each says why", async () => {
    const chain = Array.from({ length: 1000 }, (_job, index) => ({
      definitionKey,
      ref: `n${index}`,
      ...(index === 0 ? {} : { dependsOn: [{ ref: `n${index - 1}` }] }),
    }));
    const jobs = await enqueueJobs(make.web, scope, chain);
    await cancelJob(make.web, scope, String(jobs[0]?.jobId));
    const states = await database.query<{ outcome: string; error_type: string | null; n: number }>(
      `select outcome, error_type, count(*)::int as n from app.job_attempts where job_id = any ($1::uuid[]) group by 1, 2 order by 3`,
      [jobs.map(({ jobId }) => jobId)],
    );
    expect(states).toEqual([
      { outcome: "canceled", error_type: null, n: 1 },
      { outcome: "canceled", error_type: "parent_failed", n: 999 },
    ]);
  });
});

test("the sweep releases jobs that a fault left blocked, and no others", async () => {
  const parent = await make.runningJob(scope);
  const waits = await child([{ jobId: parent.jobId }]);
  const over = await make.runningJob(scope);
  const [missed, decided] = [await child([{ jobId: over.jobId }]), await child([{ jobId: over.jobId }])];
  await settleAttempts(make.worker, [succeeded(over)]);
  const lose = "update app.live_jobs set state = 'blocked', ready = false where job_id = any ($1::uuid[])";
  await database.query(lose, [[missed, decided]]);
  await database.query("update app.job_dependencies set state = 'pending' where child_id = $1", [missed]);
  let healed = 0;
  for (let after: string | undefined, turn = 0; turn < 100; turn += 1) {
    const swept = await sweepDependents(make.scheduler, { after, limit: 2 });
    healed += swept.healed;
    after = swept.last;
    if (after === undefined) break;
  }
  expect(healed).toBe(2);
  expect(await Promise.all([waits, missed, decided].map(statusOf))).toEqual(["blocked", "queued", "queued"]);
});
