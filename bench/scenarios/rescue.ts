import { setTimeout as delay } from "node:timers/promises";
import { hold, until } from "../lib/held-jobs";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median, percentile } from "../lib/stats";
import { System } from "../lib/systems";

const JOBS_OF_ROUND = 40;
const MOST_PAUSE_MS = 4000;

interface Rescued {
  readonly back: number;
  readonly again: number;
}

/**
 * A worker is killed while it runs jobs under leases of five seconds: how long after the end of each lease (which is its
 * last renewal and five seconds) the job was taken back, and how long until another worker had it.
 */
export async function rescue(server: BenchServer, options: Options): Promise<string> {
  const system = await System.open(server, "leasehold");
  const seen: Rescued[] = [];
  for (let round = 0; round < options.rounds; round += 1)
    seen.push(...(await killOne(system, options.jobs < 1000 ? 4 : JOBS_OF_ROUND)));
  await system.close();
  const row = (name: string, waits: readonly number[]) => {
    const cells = [median(waits), percentile(waits, 0.95), percentile(waits, 0.99), Math.max(...waits)];
    return `| ${name} | ${waits.length} | ${cells.map((cell) => cell.toPrecision(3)).join(" | ")} |`;
  };
  return [
    "| after the end of its lease, a job is | jobs | p50 (ms) | p95 (ms) | p99 (ms) | max (ms) |",
    `|${" --- |".repeat(6)}`,
    row(
      "taken back",
      seen.map(({ back }) => back),
    ),
    row(
      "claimed again",
      seen.map(({ again }) => again),
    ),
  ].join("\n");
}

async function killOne(system: System, count: number): Promise<Rescued[]> {
  await system.reset();
  const victim = system.startWorker({});
  await victim.next("ready");
  const { ids } = await hold(system, { workers: [victim], kind: "brief handler", count });
  const other = system.startWorker({});
  await other.next("ready");
  await delay(Math.random() * MOST_PAUSE_MS);
  await victim.kill();
  const ends = await query<{ id: string; at: Date }>(
    system.adminUrl,
    "select job_id as id, lease_expires_at as at from app.live_jobs where job_id = any ($1::uuid[])",
    [ids],
  );
  let rows: { id: string; back: Date; again: Date }[] = [];
  await until(async () => {
    rows = await query(
      system.adminUrl,
      `select l.job_id as id, a.finished_at as back, l.claimed_at as again
       from app.live_jobs l join app.job_attempts a on a.job_id = l.job_id and a.status = 'worker_lost'
       where l.job_id = any ($1::uuid[]) and l.claimed_at > a.finished_at`,
      [ids],
    );
    return rows.length === count;
  }, "the rescue of every job");
  await other.kill();
  const endOf = new Map(ends.map(({ id, at }) => [id, at.getTime()]));
  return rows.map(({ id, back, again }) => {
    const end = endOf.get(id) ?? Number.NaN;
    return { back: back.getTime() - end, again: again.getTime() - end };
  });
}
