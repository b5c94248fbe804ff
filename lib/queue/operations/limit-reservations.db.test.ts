import { afterAll, beforeEach, expect, test } from "vitest";
import { claimFromLanes, createLimit, pollWork } from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { claimReservedSql, reservePlacesSql } from "../sql/claim-jobs";
import { bulkJobs } from "./limits.fixture";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
await make.definition({ key: "mail", queue: "email-sending" });
afterAll(() => make.close());
beforeEach(async () => {
  await database.query(
    "truncate app.live_jobs, app.concurrency_limits, app.start_buckets, app.job_attempts, app.claim_reservations",
  );
  await bulkJobs(database, make, { scope, definitionKey: "mail", count: 20 });
});

const lanes = async () => (await pollWork(make.worker, { workerId: "w", afterLane: 0, maxLanes: 256 })).lanes;

async function claim(limit: number) {
  const asked = (await lanes()).map(({ laneNo, limited }) => ({ laneNo, limited, limit, leaseSeconds: 30 }));
  return claimFromLanes(make.worker, { workerId: "w", lanes: asked, limit });
}

/** What a worker does before it claims, and then dies. */
const reserve = async (n: number) => {
  const numbers = (await lanes()).map(({ laneNo }) => laneNo);
  const from = numbers.map(() => Number.NEGATIVE_INFINITY);
  await make.worker.run(reservePlacesSql, [numbers, numbers.map(() => n), n, from]);
};

const reservations = async () =>
  (await database.query<{ n: number }>("select sum(n)::int as n from app.claim_reservations"))[0]?.n ?? 0;

const age = () => database.query("update app.claim_reservations set made_at = made_at - interval '10 s'");

test("places that are reserved count as running, until nobody has used them for seconds", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", maxRunning: 5 });
  await reserve(4);
  expect(await reservations()).toBe(4);
  const first = await claim(10);
  expect(first.jobs).toHaveLength(1);
  expect(first.heldBack).toMatchObject([{ by: "running" }]);
  expect(await reservations()).toBe(4);
  await age();
  expect((await claim(10)).jobs).toHaveLength(4);
  expect((await claim(10)).jobs).toHaveLength(0);
  expect(await reservations()).toBe(0);
});

test("a reservation that its maker has in use is never dropped, however long that takes", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", maxRunning: 5 });
  await reserve(5);
  await age();
  await make.worker.transaction(async (slow) => {
    await slow.run({ name: "", repeatable: false, text: "delete from app.claim_reservations" });
    expect((await claim(10)).jobs).toHaveLength(0);
  });
});

test("a claim for a reservation that was dropped meanwhile gets nothing", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", maxRunning: 5 });
  await reserve(5);
  const [made] = await database.query<{ id: string }>("select id from app.claim_reservations");
  await age();
  expect((await claim(5)).jobs).toHaveLength(5);
  const values = [[made?.id], "late", [30], [Number.NEGATIVE_INFINITY], null];
  expect(await make.worker.run(claimReservedSql, values)).toEqual([]);
});

test("starts that were taken for jobs that somebody else got are given back", async () => {
  await createLimit(make.platform, { scope: "queue", queue: "email-sending", startsPerSecond: 0.001, burst: 6 });
  const tokens = async () =>
    (await database.query<{ tokens: number }>("select tokens from app.start_buckets"))[0]?.tokens;
  await make.worker.transaction(async (other) => {
    const text = `select 1 from app.live_jobs where job_id in (
      select job_id from app.live_jobs order by sort_key limit 18) for update`;
    await other.run({ name: "", repeatable: false, text });
    expect((await claim(6)).jobs).toHaveLength(2);
  });
  expect(await tokens()).toBeCloseTo(4, 1);
  expect((await claim(6)).jobs).toHaveLength(4);
});
