import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { createLimit } from "@/lib/queue/testing";
import { type Installation, openPool } from "../lib/installation";
import type { Options } from "../lib/options";
import type { BenchServer } from "../lib/server";
import { median, percentile } from "../lib/stats";
import { System } from "../lib/systems";
import { startsOf, waitsOf } from "./latency";

const STARTS = 200;
const SETTLED_MS = 3000;
/** By then the leader has marked the running jobs. */
const MARKED_MS = 12_000;

/**
 * From the call that enqueues to the start of the job on an idle worker, with a scheduler beside it: before and after
 * `jobs` jobs ran while a session held an old snapshot, and then also under a limit.
 */
export async function startsUnderSnapshot(server: BenchServer, { jobs }: Options): Promise<string> {
  const system = await System.open(server, "leasehold");
  await system.reset();
  const holder = new pg.Client({ connectionString: system.adminUrl });
  await holder.connect();
  const worker = system.startWorker({ reportsStarts: true });
  await worker.next("ready");
  const started = startsOf(worker);
  const lines = ["| jobs that ran | limit | start p50 (ms) | start p95 (ms) |", "| --- | --- | --- | --- |"];
  let from = 0;
  const measure = async (ran: number, limit: string) => {
    await delay(SETTLED_MS);
    const waits = await waitsOf(system, started, { from, jobs: STARTS });
    from += STARTS;
    const cells = [median(waits), percentile(waits, 0.95)].map((ms) => ms.toFixed(1));
    lines.push(`| ${ran.toLocaleString("en-US")} | ${limit} | ${cells.join(" | ")} |`);
  };
  await measure(0, "none");
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from app.tenants");
  await system.client.call("fill", { from, count: jobs });
  from += jobs;
  while (!(await system.isDone())) await delay(100);
  await measure(jobs, "none");
  await limitNoop({ adminUrl: system.adminUrl, secret: server.secret });
  await delay(MARKED_MS);
  await measure(jobs, "100 at once");
  await worker.stop();
  await system.close();
  await holder.end();
  return lines.join("\n");
}

async function limitNoop(installation: Installation): Promise<void> {
  const platform = openPool(installation, "platform", { max: 1 });
  await createLimit(platform, { scope: "definition", definition_key: "noop", max_running: 100 });
  await platform.close();
}
