import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import {
  type Claim,
  type ClaimedJob,
  claimFromLanes,
  createLimit,
  deleteLimit,
  getJob,
  type LimitInput,
  listLimits,
  pollWork,
  registerWorker,
  rescueExpiredLeases,
  settleAttempts,
  updateLimit,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { bulkJobs, mostAtOnce, mostStartsOver, naiveClaim } from "./limits.fixture";

const database = await testDatabase();
const make = makeFactory(database);
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
for (const key of ["mail", "report"]) await make.definition({ key, queue: "email-sending" });
/** One connection per claimer. */
const pool = openDatabase({
  prepare: true,
  url: database.urlFor("worker"),
  role: "worker",
  max: 8,
  applicationName: "leasehold-test",
});
afterAll(() => Promise.all([make.close(), pool.close()]));
beforeEach(async () => {
  await database.query(
    "truncate app.live_jobs, app.concurrency_limits, app.rate_buckets, app.job_attempts, app.running_mark",
  );
  await database.moveClock(0);
});

type LeasedJob = Pick<ClaimedJob, "jobId" | "leaseNo" | "tenantId">;

async function claim(limit: number, workerId = "w"): Promise<Claim> {
  const { lanes } = await pollWork(pool, { workerId, afterLane: 0, maxLanes: 256 });
  const asked = lanes.map(({ laneNo, limited }) => ({ laneNo, limited, limit, leaseSeconds: 30 }));
  return claimFromLanes(pool, { workerId, lanes: asked, limit });
}
const settle = (jobs: readonly LeasedJob[]) =>
  settleAttempts(
    pool,
    jobs.map((job) => succeeded(job)),
  );
const add = (scope: typeof acme, definitionKey: string, count: number) =>
  bulkJobs(database, make, { scope, definitionKey, count });

const WORKER = { workerId: "w", hostname: "h", pid: 1, version: "", label: "", queues: [], capacity: 1, isolation: "" };

/** Why the last of a tenant's waiting jobs waits. */
async function waitReasonOf(scope: typeof acme) {
  const [row] = await database.query(
    "select job_id from app.live_jobs where tenant_id = $1 and ready order by sort_key desc limit 1",
    [scope.tenantId],
  );
  return (await getJob(make.web, scope, row?.job_id))?.wait_reason;
}

describe("a limit on running jobs", () => {
  const cases: [LimitInput, number][] = [
    [{ scope: "queue", queue: "email-sending", max_running: 3 }, 3],
    [{ scope: "definition", definition_key: "mail", max_running: 3 }, 3 + 20],
    [{ scope: "tenant_queue", queue: "email-sending", tenant: "acme", max_running: 3 }, 3 + 20],
    [{ scope: "tenant_queue", queue: "email-sending", max_running: 3 }, 3 + 3],
    [{ scope: "tenant_definition", definition_key: "mail", tenant: "acme", max_running: 3 }, 3 + 30],
    [{ scope: "tenant_definition", definition_key: "mail", max_running: 3 }, 3 + 3 + 20],
  ];
  test.each(cases)("%j lets %i of 40 jobs run", async (input, expected) => {
    await add(acme, "mail", 10);
    await add(acme, "report", 10);
    await add(globex, "mail", 10);
    await add(globex, "report", 10);
    await createLimit(make.platform, input);
    expect((await claim(100)).jobs).toHaveLength(expected);
    expect((await claim(100)).jobs).toEqual([]);
  });

  test("lets the next job start when one ends, and returns the limited lanes", async () => {
    await add(acme, "mail", 5);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 2 });
    const first = await claim(10);
    expect(first.limitedLanes).toEqual([{ laneNo: first.jobs[0]?.laneNo, by: "running", retryInMs: null }]);
    const [one] = first.jobs;
    if (!one) throw new Error("nothing was claimed");
    await settleAttempts(make.worker, [succeeded(one)]);
    expect((await claim(10)).jobs).toHaveLength(1);
    await settle((await claim(10)).jobs);
  });

  test("does not report a lane without more jobs", async () => {
    await add(acme, "mail", 2);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 2 });
    expect(await claim(10)).toMatchObject({ jobs: [{}, {}], limitedLanes: [] });
  });

  test("can change while jobs run: lowering it ends no job, raising it adds slots at once", async () => {
    await add(acme, "mail", 20);
    const { id } = await createLimit(make.platform, { scope: "definition", definition_key: "mail", max_running: 5 });
    const running = await claim(10);
    await updateLimit(make.platform, { id, patch: { max_running: 2 } });
    expect((await claim(10)).jobs).toEqual([]);
    await settleAttempts(
      make.worker,
      running.jobs.slice(0, 3).map((job) => succeeded(job)),
    );
    expect((await claim(10)).jobs).toEqual([]);
    await updateLimit(make.platform, { id, patch: { max_running: 6 } });
    expect((await claim(10)).jobs).toHaveLength(4);
    await deleteLimit(make.platform, id);
    expect((await claim(10)).jobs).toHaveLength(10);
    expect(await listLimits(make.platform)).toEqual([]);
  });

  test("a tenant's own limit replaces the limit for each tenant", async () => {
    await add(acme, "mail", 9);
    await add(globex, "mail", 9);
    await createLimit(make.platform, { scope: "tenant_queue", queue: "email-sending", max_running: 2 });
    await createLimit(make.platform, { scope: "tenant_queue", queue: "email-sending", tenant: "acme", max_running: 5 });
    const { jobs } = await claim(100);
    expect(jobs.filter(({ tenantId }) => tenantId === acme.tenantId)).toHaveLength(5);
    expect(jobs.filter(({ tenantId }) => tenantId === globex.tenantId)).toHaveLength(2);
  });

  test("applies to a worker that has not heard of it", async () => {
    await add(acme, "mail", 9);
    const { lanes } = await pollWork(make.worker, { workerId: "w", afterLane: 0, maxLanes: 256 });
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 1 });
    const asked = lanes.map(({ laneNo }) => ({ laneNo, limited: false, limit: 9, leaseSeconds: 30 }));
    expect(await claimFromLanes(make.worker, { workerId: "w", lanes: asked, limit: 9 })).toMatchObject({ jobs: [] });
  });

  test("counts an expired lease until it is rescued", async () => {
    await add(acme, "mail", 5);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 2 });
    await claim(10);
    await database.moveClock(31_000);
    expect((await claim(10)).jobs).toEqual([]);
    await rescueExpiredLeases(make.scheduler, { limit: 100, random: () => 0.5 });
    expect((await claim(10)).jobs).toHaveLength(2);
  });

  test("a claim that finds the limit locked returns without jobs instead of waiting", async () => {
    await add(acme, "mail", 5);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", max_running: 2 });
    const other = new pg.Client({ connectionString: database.adminUrl });
    await other.connect();
    await other.query("begin; select 1 from app.concurrency_limits for update");
    const { jobs, limitedLanes } = await claim(10);
    await other.query("rollback");
    await other.end();
    expect(jobs).toEqual([]);
    expect(limitedLanes).toMatchObject([{ by: "busy" }]);
    expect((await claim(10)).jobs).toHaveLength(2);
  });

  test("is the wait reason while it limits jobs", async () => {
    await database.query("delete from app.job_workers");
    await registerWorker(make.worker, { ...WORKER, definitions: ["mail"] });
    await add(acme, "mail", 5);
    const { id } = await createLimit(make.platform, { scope: "tenant_queue", queue: "email-sending", max_running: 2 });
    await claim(10);
    expect(await waitReasonOf(acme)).toEqual({
      code: "at_limit",
      detail: "At a limit: 2 jobs at once of the tenant in this queue.",
    });
    await deleteLimit(make.platform, id);
    expect(await waitReasonOf(acme)).toEqual({ code: "position", detail: "3rd of 3 of its kind." });
  });

  test.each([
    [{ scope: "queue", queue: "email-sending" }, "/max_running"],
    [{ scope: "queue", queue: "nowhere", max_running: 1 }, "/queue"],
    [{ scope: "tenant_definition", definition_key: "mail", tenant: "no-such-tenant", max_running: 1 }, "/tenant"],
  ] as const)("%j is refused", async (input, pointer) => {
    await expect(createLimit(make.platform, input)).rejects.toMatchObject({
      code: "invalid-value",
      problems: [{ pointer }],
    });
  });
});

describe("a limit on starts per second", () => {
  test("allows its burst at once, then its rate, by the database's clock", async () => {
    await add(acme, "mail", 40);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", starts_per_second: 0.01, burst: 3 });
    const first = await claim(10);
    expect(first.jobs).toHaveLength(3);
    expect(first.limitedLanes).toMatchObject([{ by: "rate", retryInMs: 60_000 }]);
    await settle(first.jobs);
    expect((await claim(10)).jobs).toEqual([]);
    await registerWorker(make.worker, { ...WORKER, definitions: ["mail"] });
    expect(await waitReasonOf(acme)).toMatchObject({ code: "rate_limited" });
    await database.moveClock(201_000);
    expect((await claim(10)).jobs).toHaveLength(2);
    await database.moveClock(100_000_000);
    expect((await claim(10)).jobs).toHaveLength(3);
  });

  test("gains no tokens from a clock that goes back", async () => {
    await add(acme, "mail", 40);
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", starts_per_second: 0.01, burst: 3 });
    await database.moveClock(1_000_000);
    await claim(10);
    await database.moveClock(0);
    expect((await claim(10)).jobs).toEqual([]);
    await database.moveClock(1_000_000);
    expect((await claim(10)).jobs).toEqual([]);
  });
});

interface Race {
  readonly claimers: number;
  readonly jobs: number;
  readonly claimOnce: (workerId: string) => Promise<readonly LeasedJob[]>;
}

/** Expires the leases of unsettled jobs and makes these jobs claimable at once. */
async function rescueAbandoned(): Promise<void> {
  await database.query(
    `update app.live_jobs set lease_expires_at = now() - interval '1 s'
     where state = 'running' and claimed_at < now() - interval '300 ms'`,
  );
  await rescueExpiredLeases(make.scheduler, { limit: 500, random: () => 0 });
  await database.query("update app.live_jobs set ready = true where state = 'queued' and not ready");
}

/** Runs claimers concurrently. Each settles the jobs it got, or abandons some like a killed worker. */
async function race({ claimers, jobs, claimOnce }: Race): Promise<void> {
  await add(acme, "mail", jobs / 2);
  await add(globex, "mail", jobs / 2);
  const until = performance.now() + 60_000;
  const left = async () => Number((await database.query("select count(*)::int as n from app.live_jobs"))[0]?.n);
  const run = async (workerId: string, turn: number) => {
    for (let round = 0; performance.now() < until && (round % 8 !== 0 || (await left()) > 0); round += 1) {
      const got = await claimOnce(workerId);
      await settle(got.filter((_, index) => (round * 7 + index + turn) % 11 !== 0));
      if (turn === 0) await rescueAbandoned();
      if (got.length === 0) await delay(5);
    }
  };
  await Promise.all(Array.from({ length: claimers }, (_, turn) => run(`w${turn}`, turn)));
  expect(await left()).toBe(0);
}

const claimOnce = async (workerId: string) => (await claim(4, workerId)).jobs;

describe("8 concurrent claimers, with ends and lost leases between claims", () => {
  test("never exceed the limit on running jobs, by an audit of all leases", async () => {
    await createLimit(make.platform, { scope: "definition", definition_key: "mail", max_running: 5 });
    await createLimit(make.platform, { scope: "tenant_queue", queue: "email-sending", max_running: 3 });
    await race({ claimers: 8, jobs: 400, claimOnce });
    expect(await mostAtOnce(database)).toBe(5);
    expect(await mostAtOnce(database, acme)).toBe(3);
  });

  test("never exceed burst + rate × interval, in any interval", async () => {
    await createLimit(make.platform, { scope: "queue", queue: "email-sending", starts_per_second: 150, burst: 10 });
    await race({ claimers: 8, jobs: 300, claimOnce });
    expect(await mostStartsOver(database, { rate: 150, burst: 10 })).toBeLessThanOrEqual(0.001);
  });

  test("do exceed it when the claim itself counts, so the audit can fail", async () => {
    await race({ claimers: 8, jobs: 400, claimOnce: naiveClaim(pool, { maxRunning: 5 }) });
    expect(await mostAtOnce(database)).toBeGreaterThan(5);
  });
});
