import { afterAll, describe, expect, test } from "vitest";
import {
  cancelJob,
  enqueueJobs,
  foldStatDeltas,
  getJob,
  listAttempts,
  listJobs,
  reportProgress,
  settleAttempts,
  summarizeJobs,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

describe("reading", () => {
  test("Z-04 lists have keyset pages without gaps or duplicates, filters for every status, and counts", async () => {
    const own = await make.tenant();
    const { key } = await make.definition();
    const made = await enqueueJobs(
      make.web,
      own,
      Array.from({ length: 25 }, () => ({ definitionKey: key, tags: ["x"] })),
    );
    const seen: string[] = [];
    for (let afterId: string | undefined; ; ) {
      const page = await listJobs(
        make.web,
        own,
        { definition_key: key },
        { limit: 10, ...(afterId ? { afterId } : {}) },
      );
      seen.push(...page.jobs.map((job) => job.id));
      expect(page).toMatchObject({ total: 25, totalRelation: "eq" });
      afterId = page.jobs.at(-1)?.id;
      if (!page.hasMore) break;
    }
    expect(seen).toEqual(
      made
        .map((e) => e.jobId)
        .sort()
        .reverse(),
    );
    for (const status of [
      "queued",
      "running",
      "blocked",
      "paused",
      "succeeded",
      "failed",
      "dead_letter",
      "canceled",
      "expired",
    ] as const) {
      const page = await listJobs(make.web, own, { status: [status] }, { limit: 5 });
      expect(page.total, status).toBe(status === "queued" ? 25 : 0);
    }
    await cancelJob(make.web, own, seen[0] ?? "");
    expect((await listJobs(make.web, own, { status: ["canceled", "failed"] }, { limit: 5 })).jobs).toMatchObject([
      { id: seen[0] },
    ]);
    expect(
      (await listJobs(make.web, own, { tag: "x", source: ["manual"], queue: "default" }, { limit: 5, offset: 20 }))
        .jobs,
    ).toHaveLength(5);
    expect((await listJobs(make.web, own, { q: key.slice(0, 6) }, { limit: 5 })).total).toBe(25);
    expect((await listJobs(make.web, own, { q: seen[3] ?? "" }, { limit: 5 })).total).toBe(1);
    expect((await listJobs(make.web, own, { q: "nothing-such" }, { limit: 5 })).total).toBe(0);
    expect((await listJobs(make.web, own, { created_after: new Date(Date.now() + 1000).toISOString() }, { limit: 5 })).total).toBe(0);
  });

  test("A-03 an attempt shows everything recorded about it, whether it ended the run or not", async () => {
    const own = await make.tenant();
    const output = {
      pid: 4711,
      exitCode: 0,
      stdoutTail: "out",
      stderrTail: "err",
      stdoutBytes: 300_000,
      stderrBytes: 3,
      droppedBytes: 37_856,
      cpuMs: 1230,
      peakRssBytes: 50_000_000,
    };
    for (const end of [succeeded, (claimed: Parameters<typeof succeeded>[0]) => retried(claimed, 60)]) {
      const claimed = await make.runningJob(own);
      await settleAttempts(make.worker, [{ ...end(claimed), output }]);
      expect(await listAttempts(make.web, own, claimed.jobId, { tails: true })).toMatchObject([output]);
    }
  });

  test.each([
    ["a plain success", {}, 100],
    ["a success with output", { output: { pid: 1 } }, 100],
    ["a failure", { status: "failed", outcome: "failed", errorText: "no" }, 92],
  ] as const)("an attempt and its job keep the last progress: %s", async (_, end, percent) => {
    const own = await make.tenant();
    const claimed = await make.runningJob(own);
    await reportProgress(make.worker, claimed, { percent: 92, message: "nearly" });
    await settleAttempts(make.worker, [{ ...succeeded(claimed), ...end }]);
    const progress = { percent, message: "nearly" };
    expect(await listAttempts(make.web, own, claimed.jobId)).toMatchObject([{ progress }]);
    expect((await getJob(make.web, own, claimed.jobId))?.progress).toEqual(progress);
    const silent = await make.runningJob(own);
    await settleAttempts(make.worker, [{ ...succeeded(silent), ...end }]);
    expect((await getJob(make.web, own, silent.jobId))?.progress).toBeNull();
  });

  test("attempts have pages without gaps or duplicates, and include output tails on request only", async () => {
    const own = await make.tenant();
    const claimed = await make.runningJob(own);
    await database.query(
      `insert into app.job_attempts (job_id, attempt_no, tenant_id, run_no, status, worker_id, claimed_at, started_at,
         finished_at, stdout_tail, stderr_tail)
       select $1, n, $2, 1, 'failed', 'w', app.now(), app.now(), app.now(), repeat('o', 200000), repeat('e', 200000)
       from generate_series(2, 600) n`,
      [claimed.jobId, own.tenantId],
    );
    await database.query("update app.live_jobs set lease_no = 601 where job_id = $1", [claimed.jobId]);
    const seen: number[] = [];
    for (let beforeNo: number | undefined; ; ) {
      const page = (await listAttempts(make.web, own, claimed.jobId, { limit: 97, beforeNo })) ?? [];
      expect(page.length).toBeLessThanOrEqual(97);
      expect(
        page.every(
          ({ stdout_tail: stdoutTail, stderr_tail: stderrTail }) => stdoutTail === null && stderrTail === null,
        ),
      ).toBe(true);
      seen.push(...page.map(({ attempt_no: attemptNo }) => attemptNo));
      beforeNo = page.at(-1)?.attempt_no;
      if (page.length < 97) break;
    }
    expect(seen).toEqual(Array.from({ length: 600 }, (_, n) => 601 - n));
    const [, ended] = (await listAttempts(make.web, own, claimed.jobId, { limit: 2, tails: true })) ?? [];
    expect([ended?.stdout_tail?.length, ended?.stderr_tail?.length]).toEqual([200_000, 200_000]);
    expect(await listAttempts(make.web, await make.tenant(), claimed.jobId, { beforeNo: 5 })).toBeNull();
  });

  test("counts are the same before and after their deltas are folded", async () => {
    const own = await make.tenant();
    const jobs = [
      await make.job(own),
      await make.job(own),
      await make.job(own, { scheduledFor: new Date(Date.now() + 3_600_000) }),
    ];
    await cancelJob(make.web, own, jobs[0]?.id ?? "");
    const before = await summarizeJobs(make.web, own);
    expect(before.counts).toMatchObject({ queued: 2, canceled: 1, running: 0 });
    while ((await foldStatDeltas(make.scheduler)) > 0);
    expect((await summarizeJobs(make.web, own)).counts).toEqual(before.counts);
    const live = await database.query("select count(*)::int as n from app.live_jobs where tenant_id = $1", [
      own.tenantId,
    ]);
    const total = await database.query("select sum(n)::int as n from app.live_totals where tenant_id = $1", [
      own.tenantId,
    ]);
    expect(total).toEqual(live);
  });
});
