import { afterAll, beforeEach, expect, test } from "vitest";
import {
  type ClaimedJob,
  claimFromLanes,
  createLimit,
  givenBackEnd,
  pollWork,
  recordRunningJobs,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { claimReservedSql, reserveSlotsSql } from "../claim/claim-jobs.sql";
import { bulkJobs } from "./limits.fixture";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
await make.definition({ key: "mail", queue: "email-sending" });
afterAll(() => make.close());
beforeEach(async () => {
  await database.query(
    "truncate app.live_jobs, app.concurrency_limits, app.rate_buckets, app.job_attempts, app.claim_reservations, app.running_mark",
  );
  await bulkJobs(database, make, { scope, definitionKey: "mail", count: 20 });
});

const lanes = async () => (await pollWork(make.worker, { workerId: "w", afterLane: 0, maxLanes: 256 })).lanes;

async function claim(limit: number) {
  const asked = (await lanes()).map(({ laneNo, limited }) => ({ laneNo, limited, limit, leaseSeconds: 30 }));
  return claimFromLanes(make.worker, { workerId: "w", lanes: asked, limit });
}

/** Reserves like a worker that dies before it claims. */
const reserve = async (n: number) => {
  const numbers = (await lanes()).map(({ laneNo }) => laneNo);
  const from = numbers.map(() => Number.NEGATIVE_INFINITY);
  await make.worker.run(reserveSlotsSql, [numbers, numbers.map(() => n), n, from]);
};

const settle = (job: ClaimedJob) => settleAttempts(make.worker, [succeeded(job)]);

const reservations = async () =>
  (await database.query<{ n: number }>("select sum(n)::int as n from app.claim_reservations"))[0]?.n ?? 0;

const age = () => database.query("update app.claim_reservations set made_at = made_at - interval '10 s'");

test("reserved slots count as running until they are unused for seconds", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 5 });
  await reserve(4);
  expect(await reservations()).toBe(4);
  const first = await claim(10);
  expect(first.jobs).toHaveLength(1);
  expect(first.limitedLanes).toMatchObject([{ by: "running" }]);
  expect(await reservations()).toBe(4);
  await age();
  expect((await claim(10)).jobs).toHaveLength(4);
  expect((await claim(10)).jobs).toHaveLength(0);
  expect(await reservations()).toBe(0);
});

test("the count with a list of running jobs is exact for ended, reclaimed and later jobs, and after a clock that went back", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 4 });
  const marked = async () => (await database.query("select jobs from app.running_mark"))[0]?.jobs;
  const [first, second, third] = (await claim(3)).jobs;
  if (!(first && second && third)) throw new Error("three jobs were to be claimed");
  await database.moveClock(20_000);
  await recordRunningJobs(make.scheduler);
  expect(await marked()).toHaveLength(3);
  expect((await claim(10)).jobs).toHaveLength(1);
  await settle(first);
  const [fourth] = (await claim(10)).jobs;
  if (!fourth) throw new Error("a place was free");
  await database.query("update app.live_jobs set sort_key = 0 where job_id = $1", [second.jobId]);
  await settleAttempts(make.worker, [givenBackEnd(second)]);
  const [again, ...others] = (await claim(10)).jobs;
  expect([again?.jobId, others]).toEqual([second.jobId, []]);
  await settle(third);
  await database.moveClock(0);
  expect((await claim(10)).jobs).toHaveLength(1);
  expect(await marked()).toBeUndefined();
  await database.moveClock(20_000);
  expect((await claim(10)).jobs).toHaveLength(0);
  await settle(fourth);
  expect((await claim(10)).jobs).toHaveLength(1);
});

test("a list of running jobs includes jobs claimed with an older reservation", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 5 });
  await reserve(5);
  const [row] = await database.query<{ id: string }>("select id from app.claim_reservations");
  await database.moveClock(60_000);
  await recordRunningJobs(make.scheduler);
  await make.worker.run(claimReservedSql, [[row?.id], "w", [300], [Number.NEGATIVE_INFINITY], null]);
  expect((await claim(10)).jobs).toHaveLength(0);
  await recordRunningJobs(make.scheduler);
  expect((await claim(10)).jobs).toHaveLength(0);
  await database.moveClock(0);
});

test("a reservation in use is never dropped, however long its transaction takes", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 5 });
  await reserve(5);
  await age();
  await make.worker.transaction(async (slow) => {
    await slow.run({ name: "", repeatable: false, text: "delete from app.claim_reservations" });
    expect((await claim(10)).jobs).toHaveLength(0);
  });
});

test("a claim with a dropped reservation returns no job", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 5 });
  await reserve(5);
  const [made] = await database.query<{ id: string }>("select id from app.claim_reservations");
  await age();
  expect((await claim(5)).jobs).toHaveLength(5);
  const values = [[made?.id], "late", [30], [Number.NEGATIVE_INFINITY], null];
  expect(await make.worker.run(claimReservedSql, values)).toEqual([]);
});

test("rate tokens taken for jobs that another worker claimed are returned", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", starts_per_second: 0.001, burst: 6 });
  const tokens = async () =>
    (await database.query<{ tokens: number }>("select tokens from app.rate_buckets"))[0]?.tokens;
  await make.worker.transaction(async (other) => {
    const text = `select 1 from app.live_jobs where job_id in (
      select job_id from app.live_jobs order by sort_key limit 18) for update`;
    await other.run({ name: "", repeatable: false, text });
    expect((await claim(6)).jobs).toHaveLength(2);
  });
  expect(await tokens()).toBeCloseTo(4, 1);
  expect((await claim(6)).jobs).toHaveLength(4);
});
