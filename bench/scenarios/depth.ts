import pg from "pg";
import { roleUrl } from "@/lib/db";
import { claimJobsSql } from "@/lib/queue/claim/claim-jobs.sql";
import { createInstallation } from "../lib/installation";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median, percentile } from "../lib/stats";

const CLAIM = 10;
const CLAIMS = 200;
const DEPTHS = [1000, 10_000, 100_000, 1_000_000];
const TENANTS = [1, 1000];

interface Cell {
  readonly p50: number;
  readonly p99: number;
  readonly buffers: number;
}

/**
 * What one claim of ten jobs costs while more and more jobs wait, of one tenant and of a thousand. The statement is
 * prepared while the tables are empty, which is when a plan can go wrong. Each claim is taken back.
 */
export async function depth(server: BenchServer, { quick, jobs }: Options): Promise<string> {
  const lines = [
    "| tenants | waiting | claim p50 (ms) | claim p99 (ms) | buffers |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const tenants of TENANTS) {
    const { adminUrl } = await createInstallation(server, `bench_depth_${tenants}`, [
      { key: "noop", executor: "handler" },
    ]);
    const lanes = await makeLanes(adminUrl, tenants);
    const client = new pg.Client({ connectionString: roleUrl(adminUrl, server.secret, "worker") });
    await client.connect();
    await client.query(`prepare claim (int[], int[], int, text, int[], float8[], int, bigint) as ${claimJobsSql.text}`);
    for (let run = 0; run < 6; run += 1) await claimOnce(client, lanes[0] ?? 0);
    let waiting = 0;
    for (const wanted of depthsOf(quick, jobs)) {
      await addJobs(adminUrl, wanted - waiting);
      waiting = wanted;
      const { p50, p99, buffers } = await measure(client, lanes);
      lines.push(
        `| ${tenants} | ${wanted.toLocaleString("en-US")} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${buffers} |`,
      );
    }
    await client.end();
  }
  return lines.join("\n");
}

/** A run with few jobs only checks that the scenario works. */
const depthsOf = (quick: boolean, jobs: number): number[] => DEPTHS.slice(0, jobs < 1000 ? 1 : quick ? 3 : 4);

async function makeLanes(adminUrl: string, tenants: number): Promise<number[]> {
  const rows = await query<{ lane_no: number }>(
    adminUrl,
    `with t as (insert into app.tenants (slug, name) select 't' || n, 'T' || n from generate_series(1, $1::int) n returning id)
     insert into app.lanes (tenant_id, queue_id, definition_id, band)
     select t.id, d.queue_id, d.id, 2 from t, app.job_definitions d returning lane_no`,
    [tenants],
  );
  return rows.map((row) => row.lane_no);
}

/** Rows as enqueue writes them, spread over the lanes. */
async function addJobs(adminUrl: string, count: number): Promise<void> {
  await query(
    adminUrl,
    `with lane as (select *, row_number() over () - 1 as n, count(*) over () as lanes from app.lanes),
     made as materialized (
       select app.new_id() as id, l.* from generate_series(1, $1::int) g join lane l on l.n = g % l.lanes),
     record as (
       insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select id, tenant_id, definition_id, 1, lane_no, 'manual', app.now(), 3 from made)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(app.now(), 100), 100, app.now() from made`,
    [count],
  );
  await query(adminUrl, "vacuum analyze app.live_jobs, app.jobs");
}

async function measure(client: pg.Client, lanes: readonly number[]): Promise<Cell> {
  const times: number[] = [];
  for (let n = 0; n < CLAIMS; n += 1) times.push(await claimOnce(client, lanes[(n * 37) % lanes.length] ?? 0));
  return { p50: median(times), p99: percentile(times, 0.99), buffers: await buffersOf(client, lanes[0] ?? 0) };
}

const execute = (lane: number) =>
  `execute claim ('{${lane}}', '{${CLAIM}}', ${CLAIM}, 'bench', '{30}', '{-Infinity}', ${CLAIM}, 1)`;

async function claimOnce(client: pg.Client, lane: number): Promise<number> {
  await client.query("begin");
  const began = performance.now();
  await client.query(execute(lane));
  const ms = performance.now() - began;
  await client.query("rollback");
  return ms;
}

async function buffersOf(client: pg.Client, lane: number): Promise<number> {
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain (analyze, buffers) ${execute(lane)}`);
  await client.query("rollback");
  const line = rows.map((row) => row["QUERY PLAN"]).find((text) => /^ *Buffers:/.test(text)) ?? "";
  return [...line.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
}
