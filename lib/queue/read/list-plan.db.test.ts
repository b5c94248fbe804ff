import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { enqueueJobs } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { BRANCHES, listJobsSql } from "./list-jobs.sql";

const JOBS = 300;
const database = await testDatabase();
const make = makeFactory(database);
const client = new pg.Client({ connectionString: database.urlFor("web") });
afterAll(async () => {
  await client.end();
  await make.close();
});

test("a filter without an index scans its window of jobs once, even with statistics of empty tables", async () => {
  await client.connect();
  const scope = await make.tenant();
  const { key } = await make.definition();
  await database.query("analyze app.live_jobs, app.jobs, app.job_attempts");
  await enqueueJobs(
    make.web,
    scope,
    Array.from({ length: JOBS }, () => ({ definitionKey: key, tags: ["x"] })),
  );
  const branches = BRANCHES.filter((branch) => branch !== "succeeded");
  for (const branch of branches) {
    const { text } = listJobsSql({ branches: [branch], driver: "none", scans: true }, "count");
    const ids = ["ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000"];
    const filters = [null, null, null, null, null, "x", null, ["queued"], 20_000, null];
    await client.query("begin");
    await client.query("select set_config('app.current_tenant_id', $1, true)", [scope.tenantId]);
    const { rows } = await client.query<{ "QUERY PLAN": string }>(
      `explain (analyze, costs off, timing off, summary off, buffers off) ${text}`,
      [scope.tenantId, ...ids, 1000, 0, ...filters],
    );
    await client.query("rollback");
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    const window = /Append.*?actual rows=([\d.]+) loops=(\d+)/.exec(plan);
    expect([branch, Number(window?.[1]), Number(window?.[2])]).toEqual([branch, JOBS, 1]);
  }
});
