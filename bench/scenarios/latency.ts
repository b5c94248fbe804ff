import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "../lib/child";
import type { Options } from "../lib/options";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { percentile } from "../lib/stats";
import { inTurn, openSystems, type System } from "../lib/systems";

const JOBS_OF_ROUND = 200;
const SETTLED_MS = 1500;
const PAUSE_MS = 20;
const LATE_MS = 5000;
const FIGURES: readonly Figure[] = [
  { name: "p50", unit: "ms", better: "less" },
  { name: "p95", unit: "ms", better: "less" },
  { name: "p99", unit: "ms", better: "less" },
];

type Start = readonly [tag: number, tenant: number, at: number];

/** Measures the time from the enqueue to the job's start, one job at a time on an idle worker. */
export async function latency(server: BenchServer, options: Options): Promise<string> {
  const systems = await openSystems(server, options);
  const samples: Sample[] = [];
  const jobs = Math.min(JOBS_OF_ROUND, options.jobs);
  for (let round = 0; round < options.rounds; round += 1) {
    for (const system of inTurn(systems, round)) {
      const waits = await oneByOne(system, jobs);
      const of = (figure: string, share: number) => ({ system: system.name, figure, value: percentile(waits, share) });
      samples.push(of("p50", 0.5), of("p95", 0.95), of("p99", 0.99));
    }
  }
  await Promise.all(systems.map((system) => system.close()));
  return table(FIGURES, samples, "leasehold");
}

async function oneByOne(system: System, jobs: number): Promise<number[]> {
  await system.reset();
  const worker = system.startWorker({ reportsStarts: true });
  await worker.next("ready");
  await delay(SETTLED_MS);
  const waits = await waitsOf(system, startsOf(worker), { from: 0, jobs });
  await worker.stop();
  return waits;
}

type Started = ReturnType<typeof startsOf>;

/** Milliseconds from the call that enqueues to the start, of jobs one after the other, with tags from `from` on. */
export async function waitsOf(
  system: System,
  started: Started,
  { from, jobs }: { readonly from: number; readonly jobs: number },
): Promise<number[]> {
  const waits: number[] = [];
  for (let tag = from; tag < from + jobs; tag += 1) {
    const { at } = await system.client.call<{ at: number }>("one", { tag });
    waits.push(((await started(tag)) ?? at + LATE_MS) - at);
    await delay(PAUSE_MS);
  }
  return waits;
}

/** Returns when the job with this tag started; undefined if it did not start in time. */
export function startsOf(worker: Child): (tag: number) => Promise<number | undefined> {
  const known = new Map<number, number>();
  worker.on("starts", ({ starts }) => {
    for (const [tag, , at] of starts as readonly Start[]) known.set(tag, at);
  });
  return async (tag) => {
    const deadline = performance.now() + LATE_MS;
    while (!known.has(tag) && performance.now() < deadline) await delay(5);
    return known.get(tag);
  };
}
