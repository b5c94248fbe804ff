import { afterAll, expect, test } from "vitest";
import { appendLogs, cancelJob, retryJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

/** Counts rows whose tenant is not that of their job, or whose job is missing. */
const ORPHANS = `
  select 'live_jobs' as tab, count(*)::int as n from app.live_jobs c left join app.jobs j on j.id = c.job_id
    where j.tenant_id is distinct from c.tenant_id
  union all select 'job_attempts', count(*)::int from app.job_attempts c left join app.jobs j on j.id = c.job_id
    where j.tenant_id is distinct from c.tenant_id
  union all select 'job_logs', count(*)::int from app.job_logs c left join app.jobs j on j.id = c.job_id
    where j.tenant_id is distinct from c.tenant_id
  union all select 'dedupe_keys', count(*)::int from app.dedupe_keys c left join app.jobs j on j.id = c.job_id
    where j.tenant_id is distinct from c.tenant_id
  union all select 'job_dependencies', count(*)::int from app.job_dependencies c
    left join app.jobs j on j.id = c.child_id left join app.jobs p on p.id = c.parent_id
    where j.tenant_id is distinct from c.tenant_id or p.tenant_id is distinct from c.tenant_id
  union all select 'lanes of jobs', count(*)::int from app.jobs j left join app.lanes l on l.lane_no = j.lane_no
    where l.tenant_id is distinct from j.tenant_id or l.definition_id <> j.definition_id
  union all select 'neither live nor ended', count(*)::int from app.jobs j
    where not exists (select 1 from app.live_jobs l where l.job_id = j.id)
      and not exists (select 1 from app.job_attempts a where a.job_id = j.id and a.outcome is not null and not a.superseded)
  union all select 'live and ended', count(*)::int from app.live_jobs l join app.job_attempts a on a.job_id = l.job_id
    where a.outcome is not null and not a.superseded`;

test("RLS-5 every row of a job has the job's tenant, and a job is either live or ended", async () => {
  const scopes = [await make.tenant(), await make.tenant()];
  for (const scope of scopes) {
    const done = await make.runningJob(scope, { dedupeKey: "done", dedupe: { mode: "retained" } });
    await appendLogs(make.worker, done, [{ seq: 0, stream: "stdout", body: "x" }]);
    await settleAttempts(make.worker, [succeeded(done)]);
    const waits = await make.runningJob(scope, { dedupeKey: "waits" });
    await settleAttempts(make.worker, [retried(waits, 60)]);
    const canceled = await make.job(scope);
    await cancelJob(make.web, scope, canceled.id);
    await retryJob(make.web, scope, { jobId: canceled.id });
    const parent = await make.runningJob(scope);
    await make.job(scope, { dependsOn: [{ jobId: parent.jobId }] });
  }
  const rows = await database.query<{ tab: string; n: number }>(ORPHANS);
  expect(rows).toHaveLength(8);
  expect(rows.filter((row) => row.n > 0)).toEqual([]);
  // The query finds a wrong tenant when there is one.
  await database.query("update app.live_jobs set tenant_id = $1 where tenant_id = $2", [
    scopes[0]?.tenantId,
    scopes[1]?.tenantId,
  ]);
  expect((await database.query<{ n: number }>(ORPHANS)).some((row) => row.n > 0)).toBe(true);
});
