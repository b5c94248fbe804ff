import { setTimeout as delay } from "node:timers/promises";
import type { Options } from "../lib/options";
import { sharedClock } from "../lib/program.mjs";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { openSystems, type System } from "../lib/systems";

const LOOK_EVERY_MS = 5;
const FIGURES: readonly Figure[] = [{ name: "jobs", unit: "/s", better: "more" }];

/** No-op jobs that wait already: from the first start until no job is unfinished, one worker process. */
export async function throughput(server: BenchServer, options: Options): Promise<string> {
  const systems = await openSystems(server, options);
  const samples: Sample[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const system of systems) {
      const value = await drain(system, options.jobs);
      samples.push({ system: system.name, figure: "jobs", value });
    }
  }
  await Promise.all(systems.map((system) => system.close()));
  return table(FIGURES, samples, "leasehold");
}

/** @returns jobs per second */
async function drain(system: System, jobs: number): Promise<number> {
  await system.reset();
  await system.client.call("fill", { count: jobs });
  const worker = system.startWorker({ expected: jobs });
  const [first] = await Promise.all([worker.next("first"), worker.next("last")]);
  while (!(await system.isDone())) await delay(LOOK_EVERY_MS);
  const ms = sharedClock() - Number(first.at);
  await worker.stop();
  return (jobs / ms) * 1000;
}
