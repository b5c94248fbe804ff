import type { Database } from "@/lib/db";
import {
  type ClaimedJob,
  claimJobs,
  enqueueJobs,
  settleAttempts,
  type TenantScope,
  workOffReleases,
} from "@/lib/queue/testing";
import { addTenant, createInstallation, openPool } from "../lib/installation";
import type { Options } from "../lib/options";
import { type BenchServer, query } from "../lib/server";

const SHAPES = ["fan-out, succeeds", "fan-out, fails", "chain, fails"] as const;
type Shape = (typeof SHAPES)[number];
const BATCH = 1000;

interface Bench {
  readonly adminUrl: string;
  readonly web: Database;
  readonly worker: Database;
  readonly scope: TenantScope;
}

/** Measures the end of a job with many children, until the last child is released. */
export async function dependents(server: BenchServer, options: Options): Promise<string> {
  const bench = await openBench(server);
  const lines = [
    "| shape | dependents | settle (ms) | all released (ms) | longest turn (ms) |",
    "| --- | --- | --- | --- | --- |",
  ];
  for (const shape of SHAPES) {
    for (const count of options.quick ? [2000] : [2000, 20_000, 50_000]) {
      lines.push(`| ${[shape, count, ...(await measure(bench, shape, count))].join(" | ")} |`);
    }
  }
  await Promise.all([bench.web, bench.worker].map((db) => db.close()));
  return lines.join("\n");
}

async function openBench(server: BenchServer): Promise<Bench> {
  const installation = await createInstallation(server, "bench_dependents");
  const open = (role: "worker" | "web") => openPool(installation, role, { max: 2, queryTimeoutMs: 120_000 });
  const scope = await addTenant(installation);
  return { adminUrl: installation.adminUrl, web: open("web"), worker: open("worker"), scope };
}

async function measure(bench: Bench, shape: Shape, count: number): Promise<string[]> {
  const { adminUrl, worker } = bench;
  await query(
    adminUrl,
    "truncate app.live_jobs, app.jobs, app.job_attempts, app.job_stat_deltas, app.job_dependencies",
  );
  const parent = await build(bench, shape, count);
  await query(adminUrl, "vacuum analyze app.live_jobs, app.jobs, app.job_dependencies");
  const outcome = shape === "fan-out, succeeds" ? "succeeded" : "dead_letter";
  const status = outcome === "succeeded" ? "succeeded" : "failed";
  const began = performance.now();
  const { jobId, leaseNo, tenantId } = parent;
  await settleAttempts(worker, [{ jobId, leaseNo, tenantId, status, outcome, spent: true }]).catch((error) =>
    console.error(String(error)),
  );
  const settled = performance.now() - began;
  let longest = settled;
  for (let handled = 1; handled > 0; ) {
    const turn = performance.now();
    ({ handled } = await workOffReleases(worker, { limit: 1000 }));
    longest = Math.max(longest, performance.now() - turn);
  }
  const [left] = await query<{ n: number }>(
    adminUrl,
    "select count(*)::int as n from app.live_jobs where state = 'blocked'",
  );
  if (left?.n !== 0) throw new Error(`${left?.n} jobs are still blocked`);
  return [settled, performance.now() - began, longest].map((ms) => ms.toFixed(0));
}

async function build({ adminUrl, web, worker, scope }: Bench, shape: Shape, count: number): Promise<ClaimedJob> {
  const [first] = await enqueueJobs(web, scope, [{ definitionKey: "noop" }]);
  const lanes = await query<{ lane_no: number }>(adminUrl, "select lane_no from app.lanes");
  const claimed = await claimJobs(worker, {
    workerId: "w",
    limit: 1,
    lanes: lanes.map(({ lane_no }) => ({ laneNo: lane_no, limit: 1, leaseSeconds: 3000, limited: false })),
  });
  let last = first?.jobId ?? "";
  for (let from = 0; from < count; from += BATCH) {
    const jobs = Array.from({ length: BATCH }, (_job, n) => ({
      definitionKey: "noop",
      ref: `n${n}`,
      dependsOn: [shape === "chain, fails" && n > 0 ? { ref: `n${n - 1}` } : { jobId: last }],
    }));
    const made = await enqueueJobs(web, scope, jobs);
    if (shape === "chain, fails") last = made.at(-1)?.jobId ?? "";
  }
  const [job] = claimed;
  if (!job) throw new Error("nothing was claimed");
  return job;
}
