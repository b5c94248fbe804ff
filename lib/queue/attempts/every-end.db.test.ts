import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelJob, expireJobs, settleAttempts, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
let definitionId: string;
beforeAll(async () => {
  definitionId = (await make.definition()).id;
});

const HOUR_MS = 3_600_000;

interface Ended {
  readonly jobId: string;
  readonly outcome: string;
}

/** Each statement that ends a job, with a job whose end has all side work: a dedupe key, a dependent, a listener. */
const ENDS: readonly (readonly [string, (scope: TenantScope) => Promise<Ended>])[] = [
  [
    "an attempt that succeeds",
    async (scope) =>
      ended(scope, await running(scope), (job) => settleAttempts(make.worker, [succeeded(job, { n: 1 })])),
  ],
  [
    "an attempt that fails for good",
    async (scope) => ended(scope, await running(scope), (job) => settleAttempts(make.worker, [dead(job)])),
  ],
  [
    "a cancel while it waits",
    async (scope) =>
      ended(scope, { jobId: (await make.job(scope, KEYED)).id }, ({ jobId }) => cancelJob(make.web, scope, jobId)),
  ],
  [
    "its expiry",
    async (scope) => {
      const at = Date.now() + HOUR_MS;
      const times = { scheduledFor: new Date(at), expiresAt: new Date(at + 1000) };
      const jobId = (await make.job(scope, { ...KEYED, ...times })).id;
      return ended(scope, { jobId }, async () => {
        await database.moveClock(2 * HOUR_MS);
        await expireJobs(make.scheduler, { limit: 10 });
        await database.moveClock(0);
      });
    },
  ],
  [
    "a parent that fails",
    async (scope) => {
      const parent = await make.runningJob(scope);
      const waits = { dependsOn: [{ jobId: parent.jobId }], onParentFailure: "fail" } as const;
      const jobId = (await make.job(scope, { ...KEYED, ...waits })).id;
      return ended(scope, { jobId }, () => settleAttempts(make.worker, [dead(parent)]));
    },
  ],
];

const KEYED = { dedupeKey: "the key", dedupe: { mode: "live" } } as const;
const running = (scope: TenantScope) => make.runningJob(scope, KEYED);

async function ended<Job extends { readonly jobId: string }>(
  scope: TenantScope,
  job: Job,
  end: (job: Job) => Promise<unknown>,
): Promise<Ended> {
  const { jobId } = job;
  const after = { dependsOn: [{ jobId, type: "completion" }], onParentFailure: "run" } as const;
  const childId = (await make.job(scope, after)).id;
  expect(await liveOf(childId)).toMatchObject([{ state: "blocked" }]);
  await end(job);
  expect(await liveOf(childId), "its child is released").toMatchObject([{ state: "queued" }]);
  const [row] = await database.query<{ outcome: string }>("select outcome from app.job_attempts where job_id = $1", [
    jobId,
  ]);
  return { jobId, outcome: row?.outcome ?? "" };
}

const liveOf = (jobId: string) => database.query("select state from app.live_jobs where job_id = $1", [jobId]);

test.each(ENDS)("%s leaves the rows that every end leaves", async (_what, endOne) => {
  const scope = await make.tenant();
  for (const name of ["succeeded", "failed", "dead_letter", "canceled", "expired"])
    await listener(database, scope, { definitionId, eventName: `job.${name}`, condition: "false" });
  const { jobId, outcome } = await endOne(scope);
  expect(await liveOf(jobId), "it is no live job").toEqual([]);
  const attempts = await database.query(
    `select run_no, tenant_id, superseded, finished_at is not null as finished, attempt_count >= 0 as counted
     from app.job_attempts where job_id = $1 and outcome is not null`,
    [jobId],
  );
  expect(attempts, "its outcome is on record once").toEqual([
    { run_no: 1, tenant_id: scope.tenantId, superseded: false, finished: true, counted: true },
  ]);
  const stats = await database.query(
    `select sum(d.n)::int as n from app.job_stat_deltas d where d.tenant_id = $1 and d.kind = $2`,
    [scope.tenantId, outcome],
  );
  expect(stats, "it is counted").toEqual([{ n: expect.any(Number) }]);
  const published = await database.query(
    "select 1 from app.events where tenant_id = $1 and name = $2 and data ->> 'job_id' = $3",
    [scope.tenantId, `job.${outcome}`, jobId],
  );
  expect(published, "its event is published").toHaveLength(1);
  expect((await make.job(scope, KEYED)).id, "its key is free").not.toBe(jobId);
});
