import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { Child } from "../lib/child";
import { cpuMsOf } from "../lib/cpu";
import { createInstallation } from "../lib/installation";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median, percentile } from "../lib/stats";

const TRIGGERS = { full: 10_000, quick: 1000 };
const SPREAD_MS = { full: 60_000, quick: 6000 };
/** From the rows' insert to the first instant. */
const AHEAD_MS = 3000;
const GIVE_UP_MS = 120_000;
const SCHEDULER = path.join(import.meta.dirname, "..", "dist", "scheduler.mjs");

interface Way {
  readonly tenants: number;
  readonly triggers: number;
  /** Between the first instant and the last. */
  readonly spreadMs: number;
}

/**
 * How late schedules fire: from the instant to the commit of its firing and its job, by the database's clock. The jobs
 * stay in the queue. The server must keep the times of commits.
 */
export async function schedules(server: BenchServer, { quick, rounds }: Options): Promise<string> {
  const size = quick ? "quick" : "full";
  const triggers = TRIGGERS[size];
  const ways: Way[] = [
    { tenants: 100, triggers, spreadMs: 0 },
    { tenants: triggers, triggers, spreadMs: 0 },
    { tenants: 100, triggers, spreadMs: SPREAD_MS[size] },
  ];
  const lines = [
    "| instants | tenants | triggers | late p50 (ms) | late p99 (ms) | last (ms) | scheduler CPU (µs each) | server CPU (µs each) |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  for (const way of ways) {
    const measured: Measured[] = [];
    // One round of a minute is enough.
    for (let round = 0; round < (way.spreadMs > 0 ? 1 : rounds); round += 1)
      measured.push(await measure(server, way, round));
    const late = measured.flatMap(({ lateMs }) => lateMs);
    const cells = [
      ...[0.5, 0.99, 1].map((share) => percentile(late, share)),
      median(measured.map(({ schedulerUs }) => schedulerUs)),
      median(measured.map(({ serverUs }) => serverUs)),
    ].map((value) => Math.round(value).toLocaleString("en-US"));
    const instants = way.spreadMs > 0 ? `over ${way.spreadMs / 1000} s` : "at one instant";
    lines.push(`| ${instants} | ${way.tenants} | ${way.triggers} | ${cells.join(" | ")} |`);
  }
  return lines.join("\n");
}

interface Measured {
  /** Of each instant. */
  readonly lateMs: readonly number[];
  /** Processor time of an instant. */
  readonly schedulerUs: number;
  readonly serverUs: number;
}

async function measure(server: BenchServer, way: Way, round: number): Promise<Measured> {
  const name = `bench_leasehold_schedules_${way.tenants}_${way.spreadMs}_${round}`;
  const { adminUrl } = await createInstallation(server, name);
  await addTenants(adminUrl, way.tenants);
  const secrets = processSecrets("scheduler", { DATABASE_URL: adminUrl, LEASEHOLD_SECRET: server.secret }).values;
  const env = { ...secrets, SHUTDOWN_GRACE_SECONDS: "1", LOG_FORMAT: "json" };
  const scheduler = new Child([SCHEDULER], env);
  await scheduler.next("ready");
  await addTriggers(adminUrl, way);
  const before = [cpuMsOf(scheduler.pid), cpuMsOf(server.pid)] as const;
  const deadline = performance.now() + way.spreadMs + GIVE_UP_MS;
  while ((await countFirings(adminUrl)) < way.triggers) {
    if (performance.now() > deadline) throw new Error(`only ${await countFirings(adminUrl)} instants fired`);
    await sleep(500);
  }
  const [schedulerMs, serverMs] = [cpuMsOf(scheduler.pid) - before[0], cpuMsOf(server.pid) - before[1]];
  const rows = await query<{ ms: number }>(
    adminUrl,
    `select extract(epoch from pg_xact_commit_timestamp(f.xmin) - f.fire_at)::float8 * 1000 as ms
     from app.trigger_firings f join app.jobs j on j.id = f.job_id where f.outcome = 'enqueued'`,
  );
  await scheduler.stop();
  if (rows.length !== way.triggers) throw new Error(`${rows.length} jobs for ${way.triggers} instants`);
  const each = (ms: number) => (ms * 1000) / way.triggers;
  return { lateMs: rows.map(({ ms }) => ms), schedulerUs: each(schedulerMs), serverUs: each(serverMs) };
}

async function countFirings(adminUrl: string): Promise<number> {
  return Number((await query<{ n: string }>(adminUrl, "select count(*) as n from app.trigger_firings"))[0]?.n);
}

async function addTenants(adminUrl: string, tenants: number): Promise<void> {
  await query(
    adminUrl,
    "insert into app.tenants (slug, name) select 't' || n, 'T' || n from generate_series(1, $1) n",
    [tenants],
  );
}

/** Inserts hourly schedules of all tenants in turn, with their next two instants, as a request would. */
async function addTriggers(adminUrl: string, { triggers, spreadMs }: Way): Promise<void> {
  await query(
    adminUrl,
    `with tenant as (select id, row_number() over (order by id) - 1 as n, count(*) over () as of from app.tenants),
       first as (select date_trunc('milliseconds', clock_timestamp() + make_interval(secs => $3::float8 / 1000)) as at)
     insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, schedule_type, interval_ms, anchor_at, timezone,
       overlap_policy, payload_template, next_run_at, following_run_at)
     select t.id, 'bench ' || i, 'schedule', d.id, 'interval', 3600000, x.at, 'UTC', 'skip', '{"at": "{{schedule.at}}"}',
       x.at, x.at + interval '1 hour'
     from generate_series(0, $1 - 1) i
     join tenant t on t.n = i % t.of
     cross join app.job_definitions d cross join first
     cross join lateral (select first.at + make_interval(secs => floor(i::float8 * $2 / $1) / 1000) as at) x`,
    [triggers, spreadMs, AHEAD_MS],
  );
  await query(adminUrl, "notify leasehold_schedules");
}
