import { afterAll, beforeEach, expect, test } from "vitest";
import { extendLeases, getJob, listAttempts, rescueExpiredLeases } from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());
beforeEach(() => database.query("truncate app.live_jobs"));

const rescue = () => rescueExpiredLeases(make.scheduler, { limit: 10, random: () => 0 });

test("LEASE-05 a lease from long ago, from the far future or of an unknown worker ends; no running job is without one", async () => {
  const jobs = [await make.runningJob(scope), await make.runningJob(scope), await make.runningJob(scope)];
  const set = (at: string, index: number) =>
    database.query(`update app.live_jobs set lease_expires_at = ${at} where job_id = $1`, [jobs[index]?.jobId]);
  await set("app.now() - interval '3 months'", 0);
  await set("app.now() + interval '3 months'", 1);
  await database.query("update app.live_jobs set claimed_by_worker = 'nobody knows it' where job_id = $1", [
    jobs[2]?.jobId,
  ]);
  await set("app.now() - interval '1 s'", 2);
  expect(await rescue()).toMatchObject({ rescued: 3, ended: 0 });
  for (const { jobId } of jobs) {
    expect((await getJob(make.web, scope, jobId))?.status).toBe("queued");
    expect((await listAttempts(make.web, scope, jobId))?.map(({ status }) => status)).toEqual(["worker_lost"]);
  }
  const without = database.query("update app.live_jobs set state = 'running', ready = false where job_id = $1", [
    jobs[0]?.jobId,
  ]);
  await expect(without).rejects.toThrow("live_jobs_running_is_leased");
});

test("the longest lease there can be is left alone, just renewed and just before its end", async () => {
  const job = await make.runningJob(scope);
  await extendLeases(make.worker, [{ ...job, leaseSeconds: 3600 }]);
  expect(await rescue()).toMatchObject({ rescued: 0, ended: 0 });
  await database.moveClock(3_590_000);
  expect(await rescue()).toMatchObject({ rescued: 0, ended: 0 });
  await database.moveClock(0);
});
