import { afterAll, expect, test } from "vitest";
import { DatabaseError, withTenant } from "@/lib/db";
import {
  cancelJob,
  enqueueJob,
  enqueueJobs,
  hasReleasesLeft,
  settleAttempts,
  sweepDependents,
  workOffReleases,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, statusOf, claimAll } = await makeLinkedJobs(database);
afterAll(() => make.close());

/** One caller per connection, so that the callers do collide. */
const CALLERS = 4;

/** Settles again until no row is locked, as a worker does. */
async function settleAll(ends: Parameters<typeof settleAttempts>[1]): Promise<void> {
  for (let open = ends; open.length > 0; ) {
    const { locked } = await settleAttempts(make.worker, open).catch(retryable(open));
    open = open.filter(({ jobId }) => locked.includes(jobId));
  }
}

/** A worker survives a deadlock, because it settles again; but these callers must not cause any. */
let deadlocks = 0;
const retryable =
  (ends: Parameters<typeof settleAttempts>[1]) =>
  (error: unknown): { locked: string[] } => {
    if (!(error instanceof DatabaseError) || error.sqlState !== "40P01") throw error;
    deadlocks += 1;
    return { locked: ends.map(({ jobId }) => jobId) };
  };

const waitersBlocked = async () => {
  while ((await workOffReleases(make.scheduler, { limit: 1000 })).handled > 0);
  return database.query<{ n: number }>("select count(*)::int as n from app.live_jobs where state = 'blocked'");
};

test("A-04 a parent that ends while its children are enqueued leaves none of them blocked", async () => {
  for (let round = 0; round < 12; round += 1) {
    const parents = await enqueueJobs(
      make.web,
      scope,
      Array.from({ length: CALLERS }, () => ({ definitionKey })),
    );
    const claimed = await claimAll();
    expect(claimed).toHaveLength(CALLERS);
    const enqueueing = parents.map(({ jobId }) =>
      enqueueJob(make.web, scope, { definitionKey, dependsOn: [{ jobId }] }),
    );
    const settling = claimed.map((one) => settleAll([succeeded(one)]));
    const children = await Promise.all(enqueueing);
    await Promise.all(settling);
    expect(await waitersBlocked()).toEqual([{ n: 0 }]);
    expect((await claimAll()).map(({ jobId }) => jobId).sort()).toEqual(children.map(({ jobId }) => jobId).sort());
  }
}, 60_000);

test("A-04 while an enqueue locks the parent, settling it waits until the child is visible", async () => {
  const parent = await make.runningJob(scope);
  const child = await withTenant(make.web, scope.tenantId, async (tx) => {
    const { jobId } = await enqueueJob(tx, scope, { definitionKey, dependsOn: [{ jobId: parent.jobId }] });
    expect(await settleAttempts(make.worker, [succeeded(parent)])).toMatchObject({ locked: [parent.jobId] });
    return jobId;
  });
  expect(await statusOf(child)).toBe("blocked");
  await settleAll([succeeded(parent)]);
  expect(await statusOf(child)).toBe("queued");
  await claimAll();
});

test("A-04 a child locked by an enqueue does not delay its parent's end, and is released when it is unlocked", async () => {
  const [parent, other] = [await make.runningJob(scope), await make.runningJob(scope)];
  const { jobId } = await enqueueJob(make.web, scope, { definitionKey, dependsOn: [{ jobId: parent.jobId }] });
  const ends = [succeeded(parent), succeeded(other)];
  await withTenant(make.web, scope.tenantId, async (tx) => {
    await enqueueJob(tx, scope, { definitionKey, dependsOn: [{ jobId }] });
    const { settled, lost } = await settleAttempts(make.worker, ends);
    expect({ settled: new Set(settled), lost }).toEqual({ settled: new Set(ends.map((end) => end.jobId)), lost: [] });
    expect(await workOffReleases(make.scheduler, { limit: 10 })).toEqual({ handled: 0, laneNos: [] });
    expect(await hasReleasesLeft(make.scheduler)).toBe(true);
    // A job that waits for its turn is not a fault that the sweep would have to heal.
    expect(await sweepDependents(make.scheduler, { limit: 1000 })).toMatchObject({ healed: 0 });
  });
  expect(await statusOf(jobId)).toBe("blocked");
  expect(await workOffReleases(make.scheduler, { limit: 10 })).toMatchObject({ handled: 1 });
  expect(await statusOf(jobId)).toBe("queued");
  expect(await hasReleasesLeft(make.scheduler)).toBe(false);
  const claimed = await claimAll();
  await settleAll(claimed.map((one) => succeeded(one)));
  await claimAll();
});

test("A-04 parents that share children end concurrently in any order and with any outcome without a deadlock", async () => {
  deadlocks = 0;
  for (let round = 0; round < 6; round += 1) {
    const parents = Array.from({ length: 12 }, (_job, index) => `p${index}`);
    const jobs = await enqueueJobs(make.web, scope, [
      ...parents.map((ref) => ({ definitionKey, ref })),
      // Each child has half of the parents, and the next child waits for it too, so cascades cross the releases.
      ...Array.from({ length: 24 }, (_job, index) => ({
        definitionKey,
        ref: `c${index}`,
        dependsOn: [
          ...parents.filter((_ref, place) => (place + index) % 2 === 0).map((ref) => ({ ref })),
          ...(index < 6 ? [] : [{ ref: `c${index - 6}` }]),
        ],
      })),
    ]);
    const claimed = await claimAll();
    expect(claimed).toHaveLength(12);
    const ends = claimed.map((one, index) => (index % 5 === round % 5 ? dead(one) : succeeded(one)));
    const middle = String(jobs[20]?.jobId);
    await Promise.all([
      ...ends.map((end) => settleAll([end])),
      // A blocked job in the middle of the graph is canceled meanwhile.
      cancelJob(make.web, scope, middle).catch((error: unknown) => error),
    ]);
    expect(await waitersBlocked()).toEqual([{ n: 0 }]);
    const ready = await claimAll();
    const outcomes = await Promise.all(jobs.slice(12).map(({ jobId }) => statusOf(jobId)));
    expect(outcomes.filter((status) => status === "running")).toHaveLength(ready.length);
    for (const status of outcomes) expect(["canceled", "running"]).toContain(status);
    await settleAll(ready.map((one) => succeeded(one)));
  }
  expect(deadlocks).toBe(0);
}, 60_000);
