import { afterAll, expect, test } from "vitest";
import { createLimit, expireJobs, getJob, promoteDueJobs, retryJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test.each([
  ["without a limit", async () => undefined],
  [
    "under a limit, of which it takes no place",
    (definitionKey: string) =>
      createLimit(make.platform, { scope: "definition", definition_key: definitionKey, max_running: 1 }),
  ],
])("a job past its expires_at is not begun, even before the sweep, and delays no other job: %s", async (_, limit) => {
  const scope = await make.tenant();
  const { key: definitionKey } = await make.definition();
  await limit(definitionKey);
  const stale = await make.job(scope, { definitionKey, priority: 1, expiresAt: new Date(Date.now() - 1000) });
  const later = await make.job(scope, {
    definitionKey,
    priority: 1,
    scheduledFor: new Date(Date.now() + 60_000),
    expiresAt: new Date(Date.now() + 61_000),
  });
  const past =
    "update app.live_jobs set scheduled_for = now() - interval '9 s', expires_at = now() - interval '8 s' where job_id = $1";
  await database.query(past, [later.id]);
  await promoteDueJobs(make.scheduler, { limit: 10 });
  const good = await make.job(scope, { definitionKey, priority: 900, expiresAt: new Date(Date.now() + 60_000) });
  const claimed = await make.claim("w1", 1);
  expect(claimed.map(({ jobId }) => jobId)).toEqual([good.id]);
  expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(2);
  for (const { id } of [stale, later])
    expect(await getJob(make.web, scope, id)).toMatchObject({ status: "expired", attempt_count: 0, started_at: null });
});

test("a job that expires while it waits for its next attempt has that error, and a retry clears expires_at", async () => {
  const scope = await make.tenant();
  const begun = await make.runningJob(scope, { expiresAt: new Date(Date.now() + 60_000) });
  await settleAttempts(make.worker, [retried(begun, 300)]);
  await database.query("update app.live_jobs set expires_at = now() where job_id = $1", [begun.jobId]);
  expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(1);
  expect(await getJob(make.web, scope, begun.jobId)).toMatchObject({
    status: "expired",
    last_error: "Its expires_at passed while it waited for its next attempt.",
    expires_at: expect.any(Date),
  });
  const { job } = await retryJob(make.web, scope, { jobId: begun.jobId });
  expect(job).toMatchObject({ status: "queued", expires_at: null });
});
