import { afterAll, describe, expect, test, vi } from "vitest";
import {
  abortBulkAction,
  acceptBulkAction,
  type BulkRequest,
  cancelJob,
  getBulkAction,
  getJob,
  hasOpenActions,
  listBulkResults,
  previewBulkAction,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { bulkFixture } from "./bulk-actions.fixture";

// These tests make thousands of jobs, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 });
const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const { member, many, turn, workOff, run, stateCounts } = await bulkFixture(database, make);

describe("a bulk action by filter", () => {
  test("applies to every matching job, in chunks, and to no job enqueued after it was accepted", async () => {
    const { scope } = await member();
    const jobs = await many(scope, 2500);
    const others = await many(scope, 3, "other");
    const request = { action: "pause", target: { filter: { tag: "x" } } } as const;
    const accepted = await acceptBulkAction(make.web, scope, request);
    expect(accepted).toMatchObject({ status: "queued", total: 2500, totalIsExact: true, done: 0 });
    const [late] = await many(scope, 1);
    await turn();
    expect(await getBulkAction(make.web, scope, accepted.id)).toMatchObject({ status: "running", done: 1000 });
    await workOff();
    expect(await getBulkAction(make.web, scope, accepted.id)).toMatchObject({
      status: "done",
      done: 2500,
      skipped: 0,
      failed: 0,
      finished_at: expect.any(Date),
    });
    expect(await stateCounts(scope)).toEqual([
      { state: "paused", n: jobs.length },
      { state: "queued", n: others.length + 1 },
    ]);
    expect((await getJob(make.web, scope, late ?? ""))?.status).toBe("queued");
    expect(await hasOpenActions(make.scheduler)).toBe(false);
    const audited = await database.query(
      "select count(*)::int as n, min(reason) as reason, min(request_id) as request_id from app.job_audit where tenant_id = $1",
      [scope.tenantId],
    );
    expect(audited).toEqual([{ n: 2500, reason: `bulk action ${accepted.id}`, request_id: "req-1" }]);
  });

  test("a dry run counts the matching jobs, returns the newest twenty and changes nothing", async () => {
    const { scope } = await member();
    const jobs = await many(scope, 30);
    await cancelJob(make.web, scope, jobs[0] ?? "");
    const preview = await previewBulkAction(make.web, scope, { action: "cancel", target: { filter: {} } });
    expect(preview).toMatchObject({ count: 29, isExact: true });
    expect(preview.samples.map((job) => job.id)).toEqual(jobs.slice(10).reverse());
    const again = await previewBulkAction(make.web, scope, { action: "retry", target: { filter: {} } });
    expect([again.count, again.samples.map((job) => job.id)]).toEqual([1, [jobs[0]]]);
    const none = { action: "resume", target: { filter: { status: ["queued"] } } } as const;
    expect(await previewBulkAction(make.web, scope, none)).toEqual({ count: 0, isExact: true, samples: [] });
    expect(await stateCounts(scope)).toEqual([{ state: "queued", n: 29 }]);
  });

  test("each action changes a job like its single-job operation", async () => {
    const { scope } = await member();
    const jobs = await many(scope, 3);
    const target = { filter: {} };
    const counts = async (request: BulkRequest) => {
      const { status, done, skipped, failed } = await run(scope, request);
      return [status, done, skipped, failed];
    };
    expect(await counts({ action: "set_priority", priority: 20, target })).toEqual(["done", 3, 0, 0]);
    const at = new Date(Date.now() + 86_400_000);
    expect(await counts({ action: "reschedule", scheduled_for: at.toISOString(), target })).toEqual(["done", 3, 0, 0]);
    expect(await getJob(make.web, scope, jobs[0] ?? "")).toMatchObject({ priority: 20, scheduled_for: at });
    expect(await counts({ action: "pause", target })).toEqual(["done", 3, 0, 0]);
    expect(await counts({ action: "resume", target })).toEqual(["done", 3, 0, 0]);
    expect(await counts({ action: "redrive", target })).toEqual(["done", 0, 0, 0]);
    expect(await counts({ action: "cancel", target })).toEqual(["done", 3, 0, 0]);
    expect(await counts({ action: "retry", target })).toEqual(["done", 3, 0, 0]);
    expect((await getJob(make.web, scope, jobs[0] ?? ""))?.run_no).toBe(2);
  });

  test("asks running jobs to stop, and redrives dead letters", async () => {
    const { scope } = await member();
    const failed = await make.runningJob(scope);
    await settleAttempts(make.worker, [dead(failed)]);
    const running = await make.runningJob(scope);
    expect(await run(scope, { action: "cancel", target: { filter: { status: ["running"] } } })).toMatchObject({
      done: 1,
    });
    expect((await getJob(make.web, scope, running.jobId))?.cancel_requested_at).toBeInstanceOf(Date);
    expect(await run(scope, { action: "redrive", target: { filter: {} } })).toMatchObject({ done: 1 });
    expect(await getJob(make.web, scope, failed.jobId)).toMatchObject({ status: "queued", run_no: 2, attempt_count: 0 });
  });
});

describe("a bulk action by ids", () => {
  test("reports each id, the greatest possible ids included", async () => {
    const { scope } = await member();
    const jobIds = ["ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"];
    const action = await run(scope, { action: "cancel", target: { job_ids: jobIds } });
    expect(action).toMatchObject({ status: "done", total: 2, done: 0, skipped: 2, failed: 0 });
  });

  test("reports the result for each job; another tenant's job looks like an absent one", async () => {
    const { scope } = await member();
    const other = await member();
    const [foreign = ""] = await many(other.scope, 1);
    const [waits = "", ended = ""] = await many(scope, 2);
    const keyed = await make.job(scope, { dedupeKey: "k" });
    await cancelJob(make.web, scope, ended);
    await cancelJob(make.web, scope, keyed.id);
    await make.job(scope, { dedupeKey: "k" });
    const ids = [waits, ended, keyed.id, foreign, ended];
    const action = await run(scope, { action: "retry", target: { job_ids: ids } });
    expect(action).toMatchObject({ total: 4, done: 1, skipped: 2, failed: 1 });
    const results = await listBulkResults(make.web, scope, action.id, { limit: 10 });
    expect(new Map(results?.results.map((result) => [result.jobId, result.code]))).toEqual(
      new Map([
        [ended, "done"],
        [waits, "state-conflict"],
        [foreign, "not-found"],
        [keyed.id, "dedupe-taken"],
      ]),
    );
    const failed = await listBulkResults(make.web, scope, action.id, { limit: 10, codes: ["dedupe-taken"] });
    expect(failed?.results.map((result) => result.jobId)).toEqual([keyed.id]);
    expect((await getJob(make.web, other.scope, foreign))?.status).toBe("queued");
    expect(await getBulkAction(make.web, other.scope, action.id)).toBeNull();
    expect(await listBulkResults(make.web, other.scope, action.id, { limit: 1 })).toBeNull();
    await expect(abortBulkAction(make.web, other.scope, action.id)).rejects.toMatchObject({ code: "not-found" });
  });

  test("pages of results continue where the last one ended, across chunks", async () => {
    const { scope } = await member();
    const jobs = await many(scope, 1100);
    const action = await run(scope, { action: "cancel", target: { filter: {} } });
    const seen: string[] = [];
    let after: { chunkNo: number; place: number } | undefined;
    for (;;) {
      const page = await listBulkResults(make.web, scope, action.id, { limit: 400, ...(after ? { after } : {}) });
      seen.push(...(page?.results.map((result) => result.jobId) ?? []));
      after = page?.results.at(-1)?.position;
      if (!page?.hasMore) break;
    }
    expect(seen).toEqual([...jobs].reverse());
  });
});

test("a filter without an index finds jobs older than those a list scans", async () => {
  const { scope } = await member();
  await many(scope, 3, "rare");
  await database.query(
    `insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
     select app.new_id(), j.tenant_id, j.definition_id, j.definition_version, j.lane_no, 'manual', now(), 1
     from generate_series(1, 20010) cross join (select * from app.jobs where tenant_id = $1 limit 1) j`,
    [scope.tenantId],
  );
  await many(scope, 2, "rare");
  const request = { action: "pause", target: { filter: { tag: "rare" } } } as const;
  expect(await previewBulkAction(make.web, scope, request)).toMatchObject({ count: 2, isExact: false });
  expect(await run(scope, request)).toMatchObject({ status: "done", done: 5 });
});

test.each([
  [{ action: "set_priority" }, "/priority"],
  [{ action: "set_priority", priority: 0 }, "/priority"],
  [{ action: "cancel", priority: 1 }, "/priority"],
  [{ action: "reschedule" }, "/scheduled_for"],
  [{ action: "pause", scheduledFor: new Date() }, "/scheduled_for"],
] as const)("an action of %j is refused", async (act, pointer) => {
  const { scope } = await member();
  const accepting = async () => acceptBulkAction(make.web, scope, { ...act, target: { filter: {} } });
  await expect(accepting()).rejects.toMatchObject({ code: "invalid-value", problems: [{ pointer }] });
});
