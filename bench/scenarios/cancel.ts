import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "../lib/child";
import { type HeldJobs, hold, type Kind } from "../lib/held-jobs";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median, percentile } from "../lib/stats";
import { System } from "../lib/systems";

const JOBS_OF_ROUND = 20;
const MOST_PAUSE_MS = 50;
const OTHER_JOBS = 60_000;

interface Way {
  readonly name: string;
  readonly workers: number;
  /** Work in the background. */
  readonly beside?: (round: Round) => Promise<void>;
  /** Runs right before each cancel. */
  readonly first?: (system: System) => Promise<unknown>;
}

interface Round {
  readonly system: System;
  readonly workers: readonly Child[];
  /** A run with a tenth of the jobs only checks that the scenario works. */
  readonly small: boolean;
}

const WAYS: readonly Way[] = [
  { name: "one", workers: 1 },
  { name: "two", workers: 2 },
  {
    name: "one, with a backlog of short jobs",
    workers: 1,
    beside: ({ system, small }) =>
      system.client.call("fill", { from: JOBS_OF_ROUND, count: small ? OTHER_JOBS / 100 : OTHER_JOBS }),
  },
  {
    name: "one that drains",
    workers: 1,
    beside: async ({ workers }) => {
      for (const worker of workers) void worker.stop();
      await delay(200);
    },
  },
  {
    name: "one that hears no wake-up",
    workers: 1,
    first: ({ adminUrl }) =>
      query(
        adminUrl,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'leasehold worker listener'",
      ),
  },
];

/**
 * From the answer of a cancel to the instant at which the child process got SIGTERM, or the handler's signal was
 * aborted; 0 when that came first.
 */
export async function cancel(server: BenchServer, options: Options): Promise<string> {
  const system = await System.open(server, "leasehold");
  const lines = ["| job | worker | cancels | p50 (ms) | p95 (ms) | p99 (ms) | max (ms) |", `|${" --- |".repeat(7)}`];
  for (const kind of ["handler", "command"] as const) {
    for (const way of WAYS) {
      const waits: number[] = [];
      for (let round = 0; round < options.rounds; round += 1)
        waits.push(...(await cancelSome(system, { kind, way, small: options.jobs < 1000 })));
      const cells = [median(waits), percentile(waits, 0.95), percentile(waits, 0.99), Math.max(...waits)];
      lines.push(
        `| ${kind} | ${way.name} | ${waits.length} | ${cells.map((cell) => cell.toPrecision(3)).join(" | ")} |`,
      );
    }
  }
  await system.close();
  return lines.join("\n");
}

interface Asked {
  readonly kind: Kind;
  readonly way: Way;
  readonly small: boolean;
}

async function cancelSome(system: System, { kind, way, small }: Asked): Promise<number[]> {
  await system.reset();
  const workers = Array.from({ length: way.workers }, () => system.startWorker({}));
  await Promise.all(workers.map((worker) => worker.next("ready")));
  const jobs: HeldJobs = await hold(system, { workers, kind, count: small ? 4 : JOBS_OF_ROUND });
  await way.beside?.({ system, workers, small });
  const answeredAt: number[] = [];
  for (const jobId of jobs.ids) {
    await way.first?.(system);
    answeredAt.push((await system.client.call<{ at: number }>("cancel", { jobId })).at);
    await delay(Math.random() * MOST_PAUSE_MS);
  }
  const stoppedAt = await jobs.stopped();
  await Promise.all(workers.map((worker) => worker.kill()));
  return answeredAt.map((at, n) => Math.max(0, (stoppedAt[n] ?? Number.NaN) - at));
}
