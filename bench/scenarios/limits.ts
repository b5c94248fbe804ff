import { type Database, migrate, openDatabase, roleUrl } from "@/lib/db";
import {
  claimFromLanes,
  createDefinition,
  createLimit,
  deleteLimit,
  type LaneRequest,
  settleAttempts,
} from "@/lib/queue";
import { cpuMsOf } from "../lib/cpu";
import type { Options } from "../lib/options";
import { type Figure, type Sample, table } from "../lib/report";
import { type BenchServer, query } from "../lib/server";

const BATCH = 100;
const CLAIMERS = [1, 4, 8] as const;
const FIGURES: readonly Figure[] = [
  ...CLAIMERS.map((n) => ({ name: rateOf(n), unit: "/s", better: "more" as const })),
  ...CLAIMERS.map((n) => ({ name: cpuOf(n), unit: "µs/job", better: "less" as const })),
];
const SYSTEM = { kind: "system", id: null, userId: null } as const;
/** What holds for the jobs that are claimed. Unreached limits cost what reached ones do, and leave the rate comparable. */
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

interface Bench {
  readonly serverPid: number;
  readonly adminUrl: string;
  readonly platform: Database;
  readonly workers: readonly Database[];
  readonly laneNo: number;
}

/** Claims of 100 and settles in turn, by claimers at once, of a lane with and without limits. */
export async function limits(server: BenchServer, options: Options): Promise<string> {
  const bench = await openBench(server);
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
  await Promise.all([bench.platform, ...bench.workers].map((db) => db.close()));
  return table(FIGURES, samples, "no limits");
}

async function openBench(server: BenchServer): Promise<Bench> {
  const adminUrl = await server.createDatabase("bench_limits");
  await migrate({ adminUrl, secret: server.secret, log: () => {} });
  const open = (role: "worker" | "platform") =>
    openDatabase({ url: roleUrl(adminUrl, server.secret, role), role, max: 1, applicationName: "leasehold bench" });
  const platform = open("platform");
  for (const key of ["noop", "other"]) await createDefinition(platform, SYSTEM, { key });
  const [lane] = await query<{ lane_no: number }>(
    adminUrl,
    `with t as (insert into app.tenants (slug, name) values ('t', 'T') returning id)
     insert into app.lanes (tenant_id, queue_id, definition_id, band)
     select t.id, d.queue_id, d.id, 2 from t, app.job_definitions d where d.key = 'noop' returning lane_no`,
  );
  const workers = Array.from({ length: Math.max(...CLAIMERS) }, () => open("worker"));
  return { serverPid: server.pid, adminUrl, platform, workers, laneNo: lane?.lane_no ?? 0 };
}

interface Round {
  readonly way: Way;
  readonly claimers: number;
  readonly jobs: number;
}

/** @returns jobs claimed and settled in a second, and the server's processor time for each */
async function measure(bench: Bench, { way, claimers, jobs }: Round): Promise<{ rate: number; cpuUs: number }> {
  await fill(bench, jobs);
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
  definitionKey: kind === "other" ? "other" : "noop",
  ...(kind === "starts" ? { startsPerSecond: 1_000_000, burst: 1_000_000 } : { maxRunning: 1_000_000 }),
});

async function drain(db: Database, lane: LaneRequest, workerId: string): Promise<void> {
  for (;;) {
    const { jobs, heldBack } = await claimFromLanes(db, { workerId, lanes: [lane], limit: BATCH });
    if (jobs.length === 0 && heldBack.length === 0) return;
    const ends = jobs.map(({ jobId, leaseNo, tenantId }) => ({ jobId, leaseNo, tenantId }));
    await settleAttempts(
      db,
      ends.map((lease) => ({ ...lease, status: "succeeded", outcome: "succeeded", spent: true })),
    );
  }
}

async function fill({ adminUrl, laneNo }: Bench, jobs: number): Promise<void> {
  await query(adminUrl, "truncate app.live_jobs, app.jobs, app.job_attempts, app.job_stat_deltas");
  await query(
    adminUrl,
    `with made as (
       insert into app.jobs (tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select tenant_id, definition_id, 1, lane_no, 'manual', now(), 3 from app.lanes, generate_series(1, $1::int)
       where lane_no = $2 returning id, tenant_id, lane_no, scheduled_for)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(scheduled_for, 100) + random(), 100, scheduled_for from made`,
    [jobs, laneNo],
  );
  await query(adminUrl, "vacuum analyze app.live_jobs, app.jobs");
}
