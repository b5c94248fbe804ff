import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "../lib/child";
import type { Options } from "../lib/options";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { jain, percentile } from "../lib/stats";
import { openSystems, type System } from "../lib/systems";

const QUIET = 50;
const NOISY = 0;
const WORKERS = 4;
const SLOTS = 5;
/** 20 slots of 50 ms: 400 jobs a second, so that 51 tenants get about 78 starts each in a window. */
const WORK_MS = 50;
const TRICKLE_EVERY_MS = 50;
const WINDOW_MS = 10_000;
const LEAST_STARTS = 20;
const LATE_MS = 30_000;
const SETTLED_MS = 2000;
/** Greater than every measured tag. */
const WARM_UP_TAG = 1_000_000_000;
const FIGURES: readonly Figure[] = [
  { name: "quiet p95 alone", unit: "ms", better: "less" },
  { name: "quiet p95 beside", unit: "ms", better: "less" },
  { name: "beside ÷ alone", unit: "times", better: "less" },
  { name: "worst Jain index", unit: "of 10 s", better: "more" },
];

type Start = readonly [tag: number, tenant: number, at: number];

interface Sizes {
  readonly noisyJobs: number;
  readonly trickled: number;
  readonly windows: number;
}

/**
 * One tenant with a long backlog beside fifty that enqueue a job now and then: how long those wait, alone and beside
 * it. Then all tenants have a backlog: how evenly they are served, as the worst of the ten-second windows.
 */
export async function noisyTenant(server: BenchServer, options: Options): Promise<string> {
  const sizes = sizesOf(options);
  const systems = await openSystems(server, { ...options, tenants: QUIET + 1, without: ["graphile-batched"] });
  const samples: Sample[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const system of systems) samples.push(...(await roundOf(system, sizes)));
  }
  await Promise.all(systems.map((system) => system.close()));
  return table(FIGURES, samples, "leasehold");
}

/** A run with few jobs only checks that the scenario works. */
function sizesOf({ quick, jobs }: Options): Sizes {
  if (jobs < 1000) return { noisyJobs: jobs, trickled: 20, windows: 0 };
  return quick ? { noisyJobs: 10_000, trickled: 100, windows: 1 } : { noisyJobs: 100_000, trickled: 400, windows: 3 };
}

async function roundOf(system: System, sizes: Sizes): Promise<Sample[]> {
  const alone = await quietWaits(system, { ...sizes, noisyJobs: 0 });
  const beside = await quietWaits(system, sizes);
  const shares = await worstShare(system, sizes);
  const of = (figure: string, value: number) => ({ system: system.name, figure, value });
  const [before, after] = [percentile(alone, 0.95), percentile(beside, 0.95)];
  return [
    of("quiet p95 alone", before),
    of("quiet p95 beside", after),
    of("beside ÷ alone", after / before),
    of("worst Jain index", shares),
  ];
}

async function quietWaits(system: System, { noisyJobs, trickled }: Sizes): Promise<number[]> {
  await system.reset();
  if (noisyJobs > 0) await system.client.call("fill", { from: trickled, count: noisyJobs, tenant: NOISY });
  const workers = await startWorkers(system);
  const started = new Map<number, number>();
  for (const worker of workers) onStarts(worker, (tag, _tenant, at) => started.set(tag, at));
  // The first jobs of a worker and of a tenant take longer and are not measured.
  for (let n = 0; n < QUIET; n += 1) await system.client.call("one", { tag: WARM_UP_TAG + n, tenant: 1 + n });
  await delay(SETTLED_MS);
  const sent: number[] = [];
  for (let tag = 0; tag < trickled; tag += 1) {
    const { at } = await system.client.call<{ at: number }>("one", { tag, tenant: 1 + (tag % QUIET) });
    sent.push(at);
    await delay(TRICKLE_EVERY_MS);
  }
  const deadline = performance.now() + LATE_MS;
  while (sent.some((_, tag) => !started.has(tag)) && performance.now() < deadline) await delay(50);
  await Promise.all(workers.map((worker) => worker.kill()));
  return sent.map((at, tag) => (started.get(tag) ?? at + LATE_MS) - at);
}

/** Returns the least fair of the windows in which all tenants have work all the time. */
async function worstShare(system: System, { windows }: Sizes): Promise<number> {
  if (windows === 0) return Number.NaN;
  await system.reset();
  const each = Math.ceil(((WORKERS * SLOTS * 1000) / WORK_MS) * (((windows + 1) * WINDOW_MS * 1e-3) / QUIET) * 2);
  await system.client.call("fill", { count: each * QUIET, tenant: NOISY });
  for (let tenant = 1; tenant <= QUIET; tenant += 1) await system.client.call("fill", { count: each, tenant });
  const workers = await startWorkers(system);
  const indexes: number[] = [];
  for (let window = 0; window < windows; window += 1) {
    const counts = new Array<number>(QUIET + 1).fill(0);
    for (const worker of workers) {
      onStarts(worker, (_tag, tenant) => {
        counts[tenant] = (counts[tenant] ?? 0) + 1;
      });
    }
    await delay(WINDOW_MS);
    const seen = [...counts];
    if (seen.reduce((sum, count) => sum + count, 0) >= LEAST_STARTS * (QUIET + 1)) indexes.push(jain(seen));
  }
  await Promise.all(workers.map((worker) => worker.kill()));
  return Math.min(...indexes);
}

async function startWorkers(system: System): Promise<Child[]> {
  const workers = Array.from({ length: WORKERS }, () =>
    system.startWorker({ reportsStarts: true, workMs: WORK_MS, concurrency: SLOTS }),
  );
  await Promise.all(workers.map((worker) => worker.next("ready")));
  await delay(SETTLED_MS);
  return workers;
}

function onStarts(worker: Child, hear: (...start: Start) => void): void {
  worker.on("starts", ({ starts }) => {
    for (const start of starts as readonly Start[]) hear(...start);
  });
}
