import { setTimeout as delay } from "node:timers/promises";
import { cpuMsOf } from "../lib/cpu";
import type { Options } from "../lib/options";
import { sharedClock } from "../lib/program.mjs";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { inTurn, openSystems, type System } from "../lib/systems";

const LOOK_EVERY_MS = 5;
const FIGURES: readonly Figure[] = [
  { name: "jobs", unit: "/s", better: "more" },
  { name: "worker CPU", unit: "µs/job", better: "less" },
  { name: "server CPU", unit: "µs/job", better: "less" },
];

/** Measures a backlog of no-op jobs with one worker process, from the first start until all have finished. */
export async function throughput(server: BenchServer, options: Options): Promise<string> {
  const systems = await openSystems(server, options);
  const parts: string[] = [];
  for (const jobs of options.backlogs) {
    const samples: Sample[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      for (const system of inTurn(systems, round)) {
        const values = await drain(system, { jobs, serverPid: server.pid });
        samples.push(...Object.entries(values).map(([figure, value]) => ({ system: system.name, figure, value })));
      }
    }
    parts.push(`A backlog of ${jobs.toLocaleString("en")}:\n\n${table(FIGURES, samples, "leasehold")}`);
  }
  await Promise.all(systems.map((system) => system.close()));
  return parts.join("\n\n");
}

async function drain(
  system: System,
  { jobs, serverPid }: { readonly jobs: number; readonly serverPid: number },
): Promise<Record<string, number>> {
  await system.reset();
  await system.client.call("fill", { count: jobs });
  const worker = system.startWorker({ expected: jobs });
  const begun = worker.next("first").then(({ at }) => ({
    at: Number(at),
    worker: cpuMsOf(worker.pid),
    server: cpuMsOf(serverPid),
  }));
  const [first] = await Promise.all([begun, worker.next("last")]);
  while (!(await system.isDone())) await delay(LOOK_EVERY_MS);
  const ms = sharedClock() - first.at;
  const perJob = (nowMs: number, thenMs: number) => ((nowMs - thenMs) / jobs) * 1000;
  const figures = {
    jobs: (jobs / ms) * 1000,
    "worker CPU": perJob(cpuMsOf(worker.pid), first.worker),
    "server CPU": perJob(cpuMsOf(serverPid), first.server),
  };
  await worker.stop();
  return figures;
}
