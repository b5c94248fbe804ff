import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { claimJobsSql } from "./claim-jobs";

const database = await testDatabase();
const make = makeFactory(database);
const client = new pg.Client({ connectionString: database.urlFor("worker") });
let laneNo: number;

interface Plan {
  readonly text: string;
  readonly buffers: number;
}

/** Runs the claim as the worker role, as it was prepared on empty tables, and takes it back. */
async function explainClaim(limit: number): Promise<Plan> {
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, buffers, costs off, timing off, summary off) execute claim ('{${laneNo}}', '{${limit}}', ${limit}, 'w', '{30}', '{-Infinity}')`,
  );
  await client.query("rollback");
  const text = rows.map((row) => row["QUERY PLAN"]).join("\n");
  const buffers = [...(/^ *Buffers: (.*)$/m.exec(text)?.[1] ?? "").matchAll(/(?:hit|read)=(\d+)/g)];
  return { text, buffers: buffers.reduce((sum, match) => sum + Number(match[1]), 0) };
}

/** Rows as enqueue would write them, many at once. */
async function addJobs(count: number, ready: boolean): Promise<void> {
  await database.query(
    `with made as (
       insert into app.jobs (tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select l.tenant_id, l.definition_id, 1, l.lane_no, 'manual', now() + case when $2 then interval '0' else interval '1 day' end, 3
       from app.lanes l, generate_series(1, $1::int) where l.lane_no = $3
       returning id, tenant_id, lane_no, scheduled_for)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', $2, app.sort_key_of(scheduled_for, 100) + random(), 100, scheduled_for from made`,
    [count, ready, laneNo],
  );
}

beforeAll(async () => {
  await client.connect();
  await client.query(`prepare claim (int[], int[], int, text, int[], float8[]) as ${claimJobsSql.text}`);
  await explainEmpty();
  await make.job(await make.tenant());
  const [lane] = await database.query<{ lane_no: number }>("select lane_no from app.lanes");
  laneNo = lane?.lane_no ?? 0;
});
afterAll(async () => {
  await client.end();
  await make.close();
});

/** Plans it while there is nothing, which is when a plan can go wrong. */
async function explainEmpty(): Promise<void> {
  laneNo = 0;
  for (let run = 0; run < 6; run++) await explainClaim(10);
}

test("LEASE-21 a claim that was prepared on empty tables stays an index scan without a sort, flat in the backlog", async () => {
  await addJobs(1000, true);
  const small = await explainClaim(10);
  await addJobs(60_000, true);
  await addJobs(20_000, false);
  const large = await explainClaim(10);
  for (const plan of [small, large]) {
    expect(plan.text).toMatch(/Index Scan using live_jobs_claim/);
    expect(plan.text).not.toMatch(/Sort|Seq Scan on (?:live_jobs|jobs)|Hash Join/);
  }
  // One more level of the index, at most, for each of its look-ups.
  expect(large.buffers - small.buffers).toBeLessThanOrEqual(small.buffers * 0.5);
});
