import { type Database, statement } from "@/lib/db";
import { enqueueJobs, type NewJob, type TenantScope } from "@/lib/queue/testing";
import { cpuMsOf } from "../lib/cpu";
import { addTenant, createInstallation, openPool } from "../lib/installation";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";
import { median } from "../lib/stats";

const SIZE = 1000;
const CALLS = { full: 10, quick: 3 };
const OUTER = 100;
const BASE = "plain";
type Shape = (n: number, outer: readonly string[]) => Pick<NewJob, "ref" | "dependsOn" | "sourceRef">;

/** The n-th job of a call, by the shape of the call. */
const SHAPES: Readonly<Record<string, Shape>> = {
  [BASE]: () => ({}),
  "each with its own source_ref": (n) => ({ sourceRef: `row ${n}` }),
  "fan of the first job": (n) => (n === 0 ? { ref: "first" } : { dependsOn: [{ ref: "first" }] }),
  chain: (n) => ({ ref: `n${n}`, ...(n > 0 && { dependsOn: [{ ref: `n${n - 1}` }] }) }),
  "children of one existing job": (_n, outer) => ({ dependsOn: [{ jobId: outer[0] ?? "" }] }),
  [`children of ${OUTER} existing jobs`]: (n, outer) => ({ dependsOn: [{ jobId: outer[n % OUTER] ?? "" }] }),
};

interface Taken {
  readonly ms: number;
  /** Processor time of this process and of the server. */
  readonly callerMs: number;
  readonly serverMs: number;
}

/**
 * Calls that enqueue 1,000 jobs each, of one caller. The shapes take turns call by call, so that a busy moment hits all of
 * them; a first round, which is not counted, warms process and connection.
 */
export async function links(server: BenchServer, { quick, rounds }: Options): Promise<string> {
  const { adminUrl, web, scope } = await openBench(server);
  const taken = new Map(Object.keys(SHAPES).map((shape): [string, Taken[]] => [shape, []]));
  for (let round = 0; round <= rounds; round += 1) {
    await query(
      adminUrl,
      "truncate app.live_jobs, app.jobs, app.job_attempts, app.job_stat_deltas, app.job_dependencies",
    );
    const existing = Array.from({ length: OUTER }, (): NewJob => ({ definitionKey: "noop" }));
    const outer = (await enqueueJobs(web, scope, existing)).map(({ jobId }) => jobId);
    await query(adminUrl, "vacuum analyze");
    for (let call = 0; call < CALLS[quick ? "quick" : "full"]; call += 1) {
      for (const [shape, all] of taken) {
        const jobs = Array.from({ length: SIZE }, (_job, n): NewJob => {
          const own = SHAPES[shape]?.(n, outer);
          return { definitionKey: "noop", payload: { tag: n }, ...own };
        });
        // The notification of the previous call uses the same connection. This call must not include its cost.
        await web.run(idleSql);
        const one = await take(() => enqueueJobs(web, scope, jobs), server.pid);
        if (round > 0) all.push(one);
      }
    }
  }
  await web.close();
  return table(taken);
}

async function openBench(server: BenchServer): Promise<{ adminUrl: string; web: Database; scope: TenantScope }> {
  const installation = await createInstallation(server, "bench_leasehold_links");
  const web = openPool(installation, "web", { max: 1, queryTimeoutMs: 120_000 });
  return { adminUrl: installation.adminUrl, web, scope: await addTenant(installation) };
}

const idleSql = statement("bench_idle", "select 1");

async function take(call: () => Promise<unknown>, serverPid: number): Promise<Taken> {
  const server = cpuMsOf(serverPid);
  const caller = process.cpuUsage();
  const began = performance.now();
  await call();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(caller);
  return { ms, callerMs: (user + system) / 1000, serverMs: cpuMsOf(serverPid) - server };
}

function table(taken: ReadonlyMap<string, readonly Taken[]>): string {
  const middle = (shape: string) => median((taken.get(shape) ?? []).map(({ ms }) => ms));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rows = [...taken].map(([shape, all]) => {
    const caller = median(all.map(({ callerMs }) => callerMs));
    const serverMs = mean(all.map((one) => one.serverMs)).toFixed(1);
    const ratio = (middle(shape) / middle(BASE)).toFixed(2);
    return `| ${shape} | ${middle(shape).toFixed(1)} | ${ratio} | ${caller.toFixed(1)} | ${serverMs} |`;
  });
  const head = `| ${SIZE} jobs | p50 (ms) | ÷ ${BASE} | caller CPU (ms, p50) | server CPU (ms, mean) |`;
  return [head, "| --- | --- | --- | --- | --- |", ...rows].join("\n");
}
