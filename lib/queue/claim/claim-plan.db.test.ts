import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { claimJobsSql } from "./claim-jobs.sql";

/** `npm run bench -- depth` runs the same check with a million. */
const MANY = 100_000;
const TENANTS = 1000;

const database = await testDatabase();
const make = makeFactory(database);
const client = new pg.Client({ connectionString: database.urlFor("worker") });

interface Plan {
  readonly text: string;
  /** Pages touched to find the jobs, per lane. */
  readonly foundPerLane: number;
}

interface Asked {
  readonly lanes: readonly number[];
  readonly each: number;
  readonly from?: number;
}

/** Runs the claim as the worker role, prepared on empty tables, and rolls it back. */
async function explainClaim({ lanes, each, from = Number.NEGATIVE_INFINITY }: Asked): Promise<Plan> {
  const list = (values: readonly number[]) => `'{${values.join(",")}}'`;
  const all = (value: number) => list(lanes.map(() => value));
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, buffers, costs off, timing off, summary off) execute claim
     (${list(lanes)}, ${all(each)}, ${lanes.length * each}, 'w', ${all(30)}, ${all(from)}, 5, 1)`,
  );
  await client.query("rollback");
  const text = rows.map((row) => row["QUERY PLAN"]).join("\n");
  const [, picked = ""] = /CTE picked\n([\s\S]*?)\n {2}CTE claimed/.exec(text) ?? [];
  expect(picked).toMatch(new RegExp(`Limit \\(actual rows=${lanes.length * each}(?:\\.00)? loops=1\\)`));
  const [, buffers = ""] = /^ *Buffers: (.*)$/m.exec(picked) ?? [];
  const touched = [...buffers.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
  return { text, foundPerLane: touched / lanes.length };
}

function expectIndexScanOnly({ text }: Plan): void {
  expect(text).toMatch(/Index Scan using live_jobs_claim/);
  expect(text).not.toMatch(/Sort|Seq Scan on (?:live_jobs|jobs)|Hash Join|Merge Join|Bitmap/);
}

interface Added {
  readonly count: number;
  /** Hours until the jobs are due; 0 = ready. */
  readonly dueInHours: number;
  /** True if a claim may reach the jobs, so they need a record. */
  readonly atHead?: boolean;
}

/** Inserts `count` rows into each lane in one statement, as enqueue would write them. */
async function addJobs(lanes: readonly number[], { count, dueInHours, atHead = false }: Added): Promise<void> {
  const rows = `select app.new_id() as id, l.tenant_id, l.lane_no, app.now() + make_interval(hours => $2) as due, definition_id
    from app.lanes l, generate_series(1, $3::int) where l.lane_no = any ($1::int[])`;
  const live = `insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
    select id, tenant_id, lane_no, 'queued', $2 = 0, app.sort_key_of(due, 100) + ${atHead ? 0 : 1} + random(), 100, due from made`;
  const record = `insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
    select id, tenant_id, definition_id, 1, lane_no, 'manual', due, 3 from made`;
  await database.query(
    atHead
      ? `with made as materialized (${rows}), record as (${record}) ${live}`
      : `with made as materialized (${rows}) ${live}`,
    [lanes, dueInHours, count],
  );
}

/** Makes one lane per tenant. */
async function makeLanes(tenants: number): Promise<number[]> {
  const rows = await database.query<{ lane_no: number }>(
    `with t as (insert into app.tenants (slug, name) select 'plan-' || $1::int || '-' || n, 'plan' from generate_series(1, $1::int) n returning id)
     insert into app.lanes (tenant_id, queue_id, definition_id, band)
     select t.id, d.queue_id, d.id, 2 from t, (select * from app.job_definitions limit 1) d returning lane_no`,
    [tenants],
  );
  return rows.map((row) => row.lane_no);
}

let lone: number;
let small: Plan;

beforeAll(async () => {
  await client.connect();
  await client.query(`prepare claim (int[], int[], int, text, int[], float8[], int, bigint) as ${claimJobsSql.text}`);
  // Planned on empty tables, which is when a plan can go wrong.
  for (let run = 0; run < 6; run++) {
    await client.query("begin; execute claim ('{0}', '{10}', 10, 'w', '{30}', '{-Infinity}', 5, 1); rollback");
  }
  await make.definition();
  [lone = 0] = await makeLanes(1);
  await addJobs([lone], { count: 1000, dueInHours: 0, atHead: true });
  small = await explainClaim({ lanes: [lone], each: 10 });
});
afterAll(async () => {
  await client.end();
  await make.close();
});

test("LEASE-21 a claim prepared on empty tables is an index scan without a sort, and costs the same with 100,000 due and 100,000 future jobs", async () => {
  expectIndexScanOnly(small);
  await addJobs([lone], { count: MANY, dueInHours: 0 });
  await addJobs([lone], { count: MANY, dueInHours: 24 });
  const large = await explainClaim({ lanes: [lone], each: 10 });
  expectIndexScanOnly(large);
  expect(large.foundPerLane - small.foundPerLane).toBeLessThanOrEqual(2);
}, 120_000);

test("a claim costs the same with a thousand tenants", async () => {
  const lanes = await makeLanes(TENANTS);
  await addJobs(lanes, { count: 20, dueInHours: 0, atHead: true });
  const many = await explainClaim({ lanes: lanes.slice(0, 200), each: 1 });
  expectIndexScanOnly(many);
  expect(many.foundPerLane).toBeLessThanOrEqual(small.foundPerLane + 2);
}, 120_000);

test("a claim costs the same while there are pauses and limits of other lanes", async () => {
  const { id } = await make.definition();
  const other = await make.tenant();
  await database.query("insert into app.pauses (scope, tenant_id, reason) values ('tenant', $1, 'x')", [
    other.tenantId,
  ]);
  await database.query(
    "insert into app.concurrency_limits (scope, definition_id, max_running) values ('definition', $1, 1)",
    [id],
  );
  // The first check for pauses on a connection reads the catalogs too.
  await explainClaim({ lanes: [lone], each: 10 });
  const gated = await explainClaim({ lanes: [lone], each: 10 });
  await database.query("truncate app.pauses, app.concurrency_limits");
  expectIndexScanOnly(gated);
  // Before 18, PostgreSQL plans app.is_paused again in each statement and reads catalogs for it, once for all lanes.
  const [server] = await database.query<{ num: number }>("select current_setting('server_version_num')::int as num");
  const planned = Number(server?.num) < 180_000 ? 15 : 0;
  // The lane is looked up twice, and so are the pauses and the limits.
  expect(gated.foundPerLane).toBeLessThanOrEqual(small.foundPerLane + 2 + 20 + planned);
});

test("while an old snapshot keeps dead rows, a claim that continues after its last sort key costs the same", async () => {
  const holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
  await holder.query("begin isolation level repeatable read; select count(*) from app.tenants");
  const [last] = await database.query<{ key: number }>(
    `with gone as (
       delete from app.live_jobs where ctid = any (array(
         select ctid from app.live_jobs where lane_no = $1 and ready order by sort_key limit 900)) returning sort_key)
     select max(sort_key) as key from gone`,
    [lone],
  );
  const whole = await explainClaim({ lanes: [lone], each: 10 });
  const on = await explainClaim({ lanes: [lone], each: 10, from: last?.key ?? 0 });
  await holder.query("rollback");
  await holder.end();
  expectIndexScanOnly(on);
  // These ten jobs may be on ten other pages.
  expect(on.foundPerLane).toBeLessThanOrEqual(small.foundPerLane + 10);
  expect(whole.foundPerLane).toBeGreaterThan(on.foundPerLane * 3);
});
