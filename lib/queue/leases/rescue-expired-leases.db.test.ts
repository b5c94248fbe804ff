import { afterAll, beforeEach, expect, test } from "vitest";
import { extendLeases, getJob, listAttempts, rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());
beforeEach(() => database.query("truncate app.live_jobs"));

const rescue = () => rescueExpiredLeases(make.scheduler, { limit: 10, random: () => 0 });

test("LEASE-05 a lease that expired long ago, is far in the future or belongs to an unknown worker is rescued", async () => {
  const jobs = [await make.runningJob(scope), await make.runningJob(scope), await make.runningJob(scope)];
  const set = (at: string, index: number) =>
    database.query(`update app.live_jobs set lease_expires_at = ${at} where job_id = $1`, [jobs[index]?.jobId]);
  await set("app.now() - interval '3 months'", 0);
  await set("app.now() + interval '3 months'", 1);
  await database.query("update app.live_jobs set claimed_by_worker = 'unknown worker' where job_id = $1", [
    jobs[2]?.jobId,
  ]);
  await set("app.now() - interval '1 s'", 2);
  const swept = await rescue();
  expect(swept).toMatchObject({ rescued: 3, ended: 0 });
  const workers = new Map(swept.lost.map(({ job_id, worker_id }) => [job_id, worker_id]));
  expect([...workers.keys()].sort()).toEqual(jobs.map(({ jobId }) => jobId).sort());
  expect(workers.get(jobs[2]?.jobId ?? "")).toBe("unknown worker");
  for (const { jobId } of jobs) {
    expect((await getJob(make.web, scope, jobId))?.status).toBe("queued");
    expect((await listAttempts(make.web, scope, jobId))?.map(({ status }) => status)).toEqual(["worker_lost"]);
  }
  const without = database.query("update app.live_jobs set state = 'running', ready = false where job_id = $1", [
    jobs[0]?.jobId,
  ]);
  await expect(without).rejects.toThrow("live_jobs_running_is_leased");
});

test("the longest possible lease is not rescued, neither just renewed nor just before its end", async () => {
  const job = await make.runningJob(scope);
  await extendLeases(make.worker, [{ ...job, leaseSeconds: 3600 }]);
  expect(await rescue()).toMatchObject({ rescued: 0, ended: 0 });
  await database.moveClock(3_590_000);
  expect(await rescue()).toMatchObject({ rescued: 0, ended: 0 });
  await database.moveClock(0);
});

test("a row that the database refuses does not keep others from being rescued, and is tried again later", async () => {
  const jobs = [await make.runningJob(scope), await make.runningJob(scope), await make.runningJob(scope)];
  const [first, bad, last] = jobs.map(({ jobId }) => jobId);
  await database.query(`create function public.refuse() returns trigger language plpgsql as
    $$ begin if new.job_id = '${bad}' then raise exception 'no' using errcode = '23514'; end if; return new; end $$`);
  await database.query(
    "create trigger refuse before insert on app.job_attempts for each row execute function public.refuse()",
  );
  await database.moveClock(31_000);
  const inTransaction = () =>
    make.scheduler.transaction((tx) => rescueExpiredLeases(tx, { limit: 10, random: () => 0 }));
  expect(await inTransaction()).toMatchObject({ rescued: 2, ended: 0, unstorable: [bad] });
  for (const id of [first, last]) expect((await getJob(make.web, scope, id ?? ""))?.status).toBe("queued");
  expect(await inTransaction()).toMatchObject({ rescued: 0, ended: 0, unstorable: [] });

  await database.query("drop trigger refuse on app.job_attempts");
  await database.moveClock(92_000);
  expect(await rescue()).toMatchObject({ rescued: 1, ended: 0, unstorable: [] });
  expect((await getJob(make.web, scope, bad ?? ""))?.status).toBe("queued");
  await database.moveClock(0);
});

test("LEASE-05 a running job without a job row is deleted from the live table, and others are rescued", async () => {
  const [orphan, other] = [await make.runningJob(scope, { dedupeKey: "orphan" }), await make.runningJob(scope)];
  await database.query("delete from app.jobs where id = $1", [orphan.jobId]);
  await database.moveClock(31_000);
  expect(await rescue()).toMatchObject({ rescued: 1, ended: 1, unstorable: [] });
  expect(await database.query("select job_id from app.live_jobs")).toEqual([{ job_id: other.jobId }]);
  expect(await database.query("select 1 from app.dedupe_keys")).toEqual([]);
  await database.moveClock(0);
});
