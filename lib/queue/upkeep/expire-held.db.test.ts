import { afterAll, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import { enqueueJob, expireJobs, workOffReleases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, child, statusOf } = await makeLinkedJobs(database);
afterAll(() => make.close());

/** Waiting jobs past their expires_at; the first has a dedupe key. */
async function overdue(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const keyed = n === 0 ? { dedupeKey: `key-${Math.random()}` } : {};
    ids.push((await enqueueJob(make.web, scope, { definitionKey, ...keyed })).jobId);
  }
  await database.query(
    "update app.live_jobs set expires_at = app.now() - interval '1 s' where job_id = any ($1::uuid[])",
    [ids],
  );
  return ids;
}

const statuses = (ids: readonly string[]) => Promise.all(ids.map(statusOf));

test("jobs expire while another job, or another job's child, is locked", async () => {
  const [held = "", parent = "", other = ""] = await overdue(3);
  const waiting = await child([{ jobId: parent }]);
  await withTenant(make.web, scope.tenantId, async (tx) => {
    // Enqueueing a child locks its parent until the end of the transaction.
    for (const jobId of [held, waiting]) await enqueueJob(tx, scope, { definitionKey, dependsOn: [{ jobId }] });
    expect(await expireJobs(make.scheduler, { limit: 10 })).toMatchObject({ count: 2, left: [] });
  });
  expect(await statuses([held, parent, other, waiting])).toEqual(["queued", "expired", "expired", "blocked"]);
  await workOffReleases(make.scheduler, { limit: 10 });
  expect(await statusOf(waiting)).toBe("canceled");
  expect(await expireJobs(make.scheduler, { limit: 10 })).toMatchObject({ count: 1 });
});

test("jobs expire while another job's dedupe key is locked, also in the caller's transaction", async () => {
  const [keyed = "", ...others] = await overdue(6);
  await make.worker.transaction(async (holder) => {
    await holder.run(
      { name: "", repeatable: false, text: "select 1 from app.dedupe_keys where job_id = $1 for update" },
      [keyed],
    );
    const expired = await make.scheduler.transaction((tx) => expireJobs(tx, { limit: 10 }));
    expect(expired).toMatchObject({ count: others.length, left: [] });
  });
  expect(await statuses([keyed, ...others])).toEqual(["queued", ...others.map(() => "expired")]);
  expect(await expireJobs(make.scheduler, { limit: 10 })).toMatchObject({ count: 1, left: [] });
});
