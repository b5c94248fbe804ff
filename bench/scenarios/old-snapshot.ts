import pg from "pg";
import { roleUrl } from "@/lib/db";
import { claimJobsSql } from "@/lib/queue/claim/claim-jobs.sql";
import { pollFreshSql, pollWorkSql } from "@/lib/queue/lanes/poll-work.sql";
import { createInstallation } from "../lib/installation";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median, percentile } from "../lib/stats";
import { startsUnderSnapshot } from "./starts-under-snapshot";

const LOOKS = 20;
/** Five seconds, as workers begin before the head that a poll saw. */
const SLACK = 5 / 600;

/** Measures polls and claims of a lane in which many jobs ran while a session held an old snapshot. */
export async function oldSnapshot(server: BenchServer, options: Options): Promise<string> {
  return `${await looksUnderSnapshot(server, options)}\n\n${await startsUnderSnapshot(server, options)}`;
}

async function looksUnderSnapshot(server: BenchServer, { jobs }: Options): Promise<string> {
  const { adminUrl } = await createInstallation(server, "bench_old_snapshot", [{ key: "noop", executor: "handler" }]);
  const laneNo = await makeLane(adminUrl);
  const holder = new pg.Client({ connectionString: adminUrl });
  const worker = new pg.Client({ connectionString: roleUrl(adminUrl, server.secret, "worker") });
  await Promise.all([holder.connect(), worker.connect()]);
  await worker.query(`prepare whole (text, int, int) as ${pollWorkSql.text}`);
  await worker.query(`prepare fresh (text, int, int) as ${pollFreshSql.text}`);
  await worker.query(`prepare claim (int[], int[], int, text, int[], float8[], int, bigint) as ${claimJobsSql.text}`);
  const lines = ["| jobs that ran | look | p50 (ms) | p95 (ms) |", "| --- | --- | --- | --- |"];
  const measure = async (ran: number) => {
    const [head] = await query<{ key: number }>(adminUrl, "select min(sort_key) as key from app.live_jobs where ready");
    const claimFrom = (low: number | string) =>
      `execute claim ('{${laneNo}}', '{10}', 10, 'bench', '{30}', '{${low}}', 10, 1)`;
    const looks = {
      "whole poll": "execute whole ('bench', 0, 256)",
      "poll of new jobs": "execute fresh ('bench', 3, 256)",
      "claim from the beginning": claimFrom("-Infinity"),
      "claim from the head": claimFrom((head?.key ?? 0) - SLACK),
    };
    for (const [name, text] of Object.entries(looks)) {
      const times = await timesOf(worker, text);
      const cells = [median(times), percentile(times, 0.95)].map((ms) => ms.toFixed(2));
      lines.push(`| ${ran.toLocaleString("en-US")} | ${name} | ${cells.join(" | ")} |`);
    }
  };
  await addJobs(adminUrl, laneNo, 1);
  await measure(0);
  await query(adminUrl, "delete from app.live_jobs");
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from app.tenants");
  await addJobs(adminUrl, laneNo, jobs);
  await runAll(adminUrl);
  await new Promise((resolve) => setTimeout(resolve, 4000));
  await addJobs(adminUrl, laneNo, 1);
  await measure(jobs);
  await Promise.all([holder.end(), worker.end()]);
  return lines.join("\n");
}

async function makeLane(adminUrl: string): Promise<number> {
  const [lane] = await query<{ lane_no: number }>(
    adminUrl,
    `with t as (insert into app.tenants (slug, name) values ('t', 'T') returning id)
     insert into app.lanes (tenant_id, queue_id, definition_id, band)
     select t.id, d.queue_id, d.id, 2 from t, app.job_definitions d returning lane_no`,
  );
  return lane?.lane_no ?? 0;
}

/** Rows as enqueue writes them. */
async function addJobs(adminUrl: string, laneNo: number, count: number): Promise<void> {
  await query(
    adminUrl,
    `with made as materialized (select app.new_id() as id, l.* from app.lanes l, generate_series(1, $2::int) where lane_no = $1),
     record as (
       insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select id, tenant_id, definition_id, 1, lane_no, 'manual', app.now(), 3 from made)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(clock_timestamp(), 100), 100, app.now() from made`,
    [laneNo, count],
  );
}

/** Does the writes of a claim and of an end for all jobs. */
async function runAll(adminUrl: string): Promise<void> {
  await query(
    adminUrl,
    `update app.live_jobs set state = 'running', ready = false, claimed_by_worker = 'w', claimed_at = app.now(), lease_no = 1,
       lease_expires_at = app.now() + interval '1 minute'`,
  );
  await query(adminUrl, "delete from app.live_jobs");
}

async function timesOf(client: pg.Client, text: string): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < LOOKS; n += 1) {
    await client.query("begin");
    const began = performance.now();
    await client.query(text);
    times.push(performance.now() - began);
    await client.query("rollback");
  }
  return times;
}
