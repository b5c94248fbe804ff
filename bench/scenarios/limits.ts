import type { Database } from "@/lib/db";
import { claimFromLanes, createLimit, deleteLimit, type LaneRequest, settleAttempts } from "@/lib/queue/testing";
import { cpuMsOf } from "../lib/cpu";
import { type OneLane, openOneLane } from "../lib/one-lane";
import type { Options } from "../lib/options";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";

const BATCH = 100;
const CLAIMERS = [1, 4, 8] as const;
const FIGURES: readonly Figure[] = [
  ...CLAIMERS.map((n) => ({ name: rateOf(n), unit: "/s", better: "more" as const })),
  ...CLAIMERS.map((n) => ({ name: cpuOf(n), unit: "µs/job", better: "less" as const })),
];
/** Limits on the claimed jobs. Limits that are not reached cost the same, and keep the rate comparable. */
const WAYS = {
  "no limits": [],
  "beside a limit": ["other"],
  "limited running": ["running"],
  "limited starts": ["starts"],
} as const;
type Way = keyof typeof WAYS;

function rateOf(claimers: number): string {
  return `${claimers} claimers`;
}

function cpuOf(claimers: number): string {
  return `server CPU, ${claimers} claimers`;
}

/** Concurrent claimers alternate claims of 100 jobs and their ends, in a lane with and without limits. */
export async function limits(server: BenchServer, options: Options): Promise<string> {
  const bench = await openOneLane(server, { name: "limits", workers: Math.max(...CLAIMERS) });
  const samples: Sample[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const claimers of CLAIMERS) {
      for (const way of Object.keys(WAYS) as Way[]) {
        const { rate, cpuUs } = await measure(bench, { way, claimers, jobs: options.jobs });
        samples.push({ system: way, figure: rateOf(claimers), value: rate });
        samples.push({ system: way, figure: cpuOf(claimers), value: cpuUs });
      }
    }
  }
  await bench.close();
  return table(FIGURES, samples, "no limits");
}

interface Round {
  readonly way: Way;
  readonly claimers: number;
  readonly jobs: number;
}

/** @returns jobs claimed and settled in a second, and the server's processor time for each */
async function measure(bench: OneLane, { way, claimers, jobs }: Round): Promise<{ rate: number; cpuUs: number }> {
  await bench.fill(jobs);
  const [kind] = WAYS[way];
  const made = kind === undefined ? undefined : await createLimit(bench.platform, limitOf(kind));
  const limited = kind === "running" || kind === "starts";
  const cpuBefore = cpuMsOf(bench.serverPid);
  const began = performance.now();
  const lane = { laneNo: bench.laneNo, limit: BATCH, leaseSeconds: 30, limited };
  await Promise.all(bench.workers.slice(0, claimers).map((db, n) => drain(db, lane, `w${n}`)));
  const ms = performance.now() - began;
  const cpuMs = cpuMsOf(bench.serverPid) - cpuBefore;
  if (made) await deleteLimit(bench.platform, made.id);
  return { rate: (jobs / ms) * 1000, cpuUs: (cpuMs / jobs) * 1000 };
}

const limitOf = (kind: "other" | "running" | "starts") => ({
  scope: "definition" as const,
  definition_key: kind === "other" ? "other" : "noop",
  ...(kind === "starts" ? { starts_per_second: 1_000_000, burst: 1_000_000 } : { max_running: 1_000_000 }),
});

async function drain(db: Database, lane: LaneRequest, workerId: string): Promise<void> {
  for (;;) {
    const { jobs, limitedLanes } = await claimFromLanes(db, { workerId, lanes: [lane], limit: BATCH });
    if (jobs.length === 0 && limitedLanes.length === 0) return;
    const ends = jobs.map(({ jobId, leaseNo, tenantId }) => ({ jobId, leaseNo, tenantId }));
    await settleAttempts(
      db,
      ends.map((lease) => ({ ...lease, status: "succeeded", outcome: "succeeded", spent: true })),
    );
  }
}
