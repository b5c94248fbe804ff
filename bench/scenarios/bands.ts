import { BAND_WEIGHTS } from "@/lib/queue/lanes/fairness.policy";
import type { Child } from "../lib/child";
import { until } from "../lib/held-jobs";
import type { Options } from "../lib/options";
import type { BenchServer } from "../lib/server";
import { farthest } from "../lib/stats";
import { System } from "../lib/systems";

const WINDOW = 1000;
/** A priority of each band. */
const BANDS = [
  { name: "critical", priority: 10 },
  { name: "high", priority: 40 },
  { name: "normal", priority: 100 },
  { name: "low", priority: 180 },
  { name: "background", priority: 500 },
] as const;
/** Jobs are distinguished by their tags. */
const TAGS_OF_BAND = 10_000_000;
const WAYS = [
  { name: "1 worker of 50 slots, jobs of 0 ms", workers: 1, slots: 50, workMs: 0 },
  { name: "4 workers of 5 slots, jobs of 10 ms", workers: 4, slots: 5, workMs: 10 },
] as const;
const SUM = BAND_WEIGHTS.reduce((sum, weight) => sum + weight, 0);

type Start = readonly [tag: number, tenant: number, at: number];

/**
 * All bands of one tenant have a backlog that does not end: the share of the starts that each gets, over all of them
 * and in the window of 1,000 starts that is farthest from its share of the weights.
 */
export async function bands(server: BenchServer, { jobs, rounds }: Options): Promise<string> {
  const system = await System.open(server, "leasehold");
  const wanted = Math.max(WINDOW, jobs);
  const lines = [
    `| workers | band | weight ÷ sum | starts of ${(wanted * rounds).toLocaleString("en-US")} | farthest window of 1,000 | off by |`,
    `|${" --- |".repeat(6)}`,
  ];
  for (const way of WAYS) {
    const runs: number[][] = [];
    for (let round = 0; round < rounds; round += 1) runs.push(await orderOf(system, { ...way, wanted }));
    for (const [band, { name }] of BANDS.entries()) {
      const due = (BAND_WEIGHTS[band] ?? 0) / SUM;
      const all = runs.flat().filter((one) => one === band).length;
      const worst = runs
        .map((run) =>
          farthest(
            run.map((one) => one === band),
            { window: WINDOW, share: due },
          ),
        )
        .reduce((far, one) => (Math.abs(one - due) > Math.abs(far - due) ? one : far), due);
      const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
      const cells = [percent(due), percent(all / (wanted * rounds)), percent(worst), percent(worst / due - 1)];
      lines.push(`| ${way.name} | ${name} | ${cells.join(" | ")} |`);
    }
  }
  await system.close();
  return lines.join("\n");
}

interface Asked {
  readonly workers: number;
  readonly slots: number;
  readonly workMs: number;
  readonly wanted: number;
}

/** The bands of the first starts, in their order. */
async function orderOf(system: System, { workers, slots, workMs, wanted }: Asked): Promise<number[]> {
  await system.reset();
  for (const [band, { priority }] of BANDS.entries()) {
    // Twice its share of the starts, so that no band runs out of jobs.
    const count = Math.ceil((2 * wanted * (BAND_WEIGHTS[band] ?? 0)) / SUM) + WINDOW;
    await system.client.call("fill", { from: band * TAGS_OF_BAND, count, priority });
  }
  const starts: Start[] = [];
  const started: Child[] = Array.from({ length: workers }, () =>
    system.startWorker({ reportsStarts: true, workMs, concurrency: slots }),
  );
  for (const worker of started) worker.on("starts", (message) => starts.push(...(message.starts as readonly Start[])));
  await until(() => starts.length >= wanted, "the starts");
  await Promise.all(started.map((worker) => worker.kill()));
  return starts
    .toSorted(([, , a], [, , b]) => a - b)
    .slice(0, wanted)
    .map(([tag]) => Math.floor(tag / TAGS_OF_BAND));
}
