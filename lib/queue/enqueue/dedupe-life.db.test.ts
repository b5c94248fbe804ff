import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import { CHANNELS, deleteExpired, enqueueJob, getJob, promoteDueJobs, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key: definitionKey } = await make.definition();
afterAll(() => make.close());

const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;
const enqueue = (dedupeKey: string, as = scope) => enqueueJob(make.web, as, { definitionKey, dedupeKey });

test("LEASE-08 a job with a dedupe key is queued again after a failure, even if others ask for the key", async () => {
  const running = await make.runningJob(scope, { definitionKey, dedupeKey: "in the way" });
  expect(await enqueue("in the way")).toMatchObject({ deduplicated: true, jobId: running.jobId });
  expect((await settleAttempts(make.worker, [retried(running, 0)])).settled).toEqual([running.jobId]);
  expect(await statusOf(running.jobId)).toBe("queued");
  expect(await enqueue("in the way")).toMatchObject({ deduplicated: true, jobId: running.jobId });
});

test("LEASE-13 a caller that meets an uncommitted holder of its key waits, and gets a new job if the holder is rolled back", async () => {
  let first = "";
  const rolledBack = withTenant(make.web, scope.tenantId, async (tx) => {
    first = (await enqueueJob(tx, scope, { definitionKey, dedupeKey: "undone" })).jobId;
    await sleep(300);
    throw new Error("the caller thought better of it");
  }).catch((error: Error) => error.message);
  await expect.poll(() => first).not.toBe("");
  const second = await enqueue("undone");
  expect(await rolledBack).toBe("the caller thought better of it");
  expect(second.deduplicated).toBe(false);
  expect(second.jobId).not.toBe(first);
  expect([await statusOf(second.jobId), await statusOf(first)]).toEqual(["queued", undefined]);
});

test("LEASE-15 keys are compared completely and belong to one tenant", async () => {
  const alike = ["a:b c", "a:bc", "A:b c", "a:b  c", "a:b c ", "1", "01", "1.0", "null", "\u00e9", "e\u0301"];
  const ids = await Promise.all(alike.map(async (key) => (await enqueue(key)).jobId));
  expect(new Set(ids).size).toBe(alike.length);
  const other = await make.tenant();
  expect((await enqueue("1", other)).deduplicated).toBe(false);
  expect((await enqueue("1")).deduplicated).toBe(true);
});

test("LEASE-16 a job that waits for its retry keeps its key, and is promoted in one batch with others", async () => {
  const [one, two] = [
    await make.runningJob(scope, { definitionKey, dedupeKey: "waits" }),
    await make.runningJob(scope, { definitionKey }),
  ];
  await settleAttempts(make.worker, [retried(one, 60), retried(two, 60)]);
  expect(await enqueue("waits")).toMatchObject({ deduplicated: true, jobId: one.jobId });
  await database.moveClock(61_000);
  expect((await promoteDueJobs(make.scheduler, { limit: 100 })).count).toBe(2);
  await database.moveClock(0);
});

test("the key of an ended job is pruned after its window, and not before", async () => {
  const end = async (dedupeKey: string, windowSeconds: number) => {
    const job = await make.runningJob(scope, { definitionKey, dedupeKey, dedupe: { mode: "window", windowSeconds } });
    await settleAttempts(make.worker, [succeeded(job)]);
    return job.jobId;
  };
  const keys = async () =>
    (await database.query<{ key: string }>("select key from app.dedupe_keys where key like 'window %' order by 1")).map(
      ({ key }) => key,
    );
  await end("window over", 60);
  await end("window used", 60);
  const open = await end("window open", 3600);
  await make.job(scope, { definitionKey, dedupeKey: "window live", dedupe: { mode: "window", windowSeconds: 60 } });
  await deleteExpired(make.scheduler);
  expect(await keys()).toEqual(["window live", "window open", "window over", "window used"]);
  await database.moveClock(61_000);
  await withTenant(make.web, scope.tenantId, async (tx) => {
    expect((await enqueueJob(tx, scope, { definitionKey, dedupeKey: "window used" })).deduplicated).toBe(false);
    expect(await deleteExpired(make.scheduler)).toBe(1);
  });
  expect(await keys()).toEqual(["window live", "window open", "window used"]);
  expect(await enqueue("window open")).toMatchObject({ deduplicated: true, jobId: open });
  expect((await enqueue("window over")).deduplicated).toBe(false);
  await database.moveClock(0);
});

test("LEASE-20 the busiest tables have their own autovacuum thresholds in rows", async () => {
  const rows = await database.query<{ relname: string; reloptions: string[] }>(
    "select relname, reloptions from pg_class where oid in ('app.live_jobs'::regclass, 'app.job_stat_deltas'::regclass) order by 1",
  );
  expect(rows.map(({ relname }) => relname)).toEqual(["job_stat_deltas", "live_jobs"]);
  for (const { reloptions } of rows) {
    expect(reloptions).toContain("autovacuum_vacuum_scale_factor=0");
    expect(reloptions.some((option) => /^autovacuum_vacuum_threshold=[1-5]000$/.test(option))).toBe(true);
  }
});

test("LEASE-23 of fifty workers notified at once one gets the job, and the others do not wait", async () => {
  await database.query("truncate app.live_jobs");
  const { id } = await make.job(scope, { definitionKey });
  const claims = await Promise.all(Array.from({ length: 50 }, (_, n) => make.claim(`w${n}`)));
  expect(claims.flat().map(({ jobId }) => jobId)).toEqual([id]);
});

test("LEASE-28 a listener idle in a transaction does not delay enqueues", async () => {
  const idle = new pg.Client({ connectionString: database.adminUrl });
  await idle.connect();
  await idle.query(`listen ${CHANNELS.work}`);
  await idle.query("begin");
  await idle.query("select 1");
  for (let n = 0; n < 20; n += 1) {
    await Promise.all(Array.from({ length: 25 }, () => enqueueJob(make.web, scope, { definitionKey })));
  }
  const [row] = await database.query<{ usage: number }>("select pg_notification_queue_usage() as usage");
  expect(row?.usage).toBeLessThan(0.01);
  await idle.end();
});
