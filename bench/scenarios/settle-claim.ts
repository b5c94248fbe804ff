import { statement } from "@/lib/db";
import { finishPlainSql } from "@/lib/queue/attempts/settle-attempts.sql";
import { claimJobsSql } from "@/lib/queue/claim/claim-jobs.sql";
import { claimFromLanes, type LaneRequest, settleAttempts } from "@/lib/queue/testing";
import { cpuMsOf } from "../lib/cpu";
import { type OneLane, openOneLane } from "../lib/one-lane";
import type { Options } from "../lib/options";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";

const BATCHES = [1, 10, 100] as const;
/** Cycles of a measurement, of one job or a hundred. Each waits for the disk. */
const CYCLES = 300;
const WORKER = "bench";

interface Lease {
  readonly jobId: string;
  readonly leaseNo: number;
  readonly tenantId: string;
}
/** Settles the claimed jobs, and claims as many again. */
type Cycle = (bench: OneLane, held: readonly Lease[], lane: LaneRequest) => Promise<readonly Lease[]>;

const claim = async ({ workers }: OneLane, lane: LaneRequest, nth = 0): Promise<readonly Lease[]> => {
  const db = workers[nth];
  return db ? (await claimFromLanes(db, { workerId: WORKER, lanes: [lane], limit: lane.limit })).jobs : [];
};

const settle = async ({ workers: [db] }: OneLane, held: readonly Lease[]): Promise<void> => {
  const end = { status: "succeeded", outcome: "succeeded", spent: true } as const;
  if (db && held.length > 0)
    await settleAttempts(
      db,
      held.map(({ jobId, leaseNo, tenantId }) => ({ jobId, leaseNo, tenantId, ...end })),
    );
};

const [finishParts, finishAnswer] = partsOf(
  finishPlainSql.text.replaceAll(/\$(\d)/g, (_, no: string) => `$${Number(no) + 8}`),
);
const [claimParts, claimAnswer] = partsOf(claimJobsSql.text);
const togetherSql = statement(
  "settle_and_claim",
  `with ${finishParts}, ${claimParts}
   select (${finishAnswer}) as done, n.* from (select 1) one left join lateral (${claimAnswer}) n on true`,
);

/** Returns the WITH parts of a statement and its select list. */
function partsOf(text: string): [parts: string, answer: string] {
  const at = text.lastIndexOf("\n   select");
  return [text.slice("with ".length, at), text.slice(at)];
}

const arrayOf = (values: readonly unknown[]): string => `{${values.map((value) => value ?? "null").join(",")}}`;

const CYCLE: Readonly<Record<string, Cycle>> = {
  "in turn": async (bench, held, lane) => {
    await settle(bench, held);
    return claim(bench, lane);
  },
  // Like the worker: a slot is free before its job's end is stored.
  "at once": async (bench, held, lane) => {
    const [next] = await Promise.all([claim(bench, lane, 1), settle(bench, held)]);
    return next;
  },
  together: async ({ workers: [db] }, held, { laneNo, limit, leaseSeconds }) => {
    const rows = await db?.run<{ job_id: string | null; lease_no: number; tenant_id: string }>(togetherSql, [
      ...[[laneNo], [limit], limit, WORKER, [leaseSeconds], [Number.NEGATIVE_INFINITY], 0, null],
      ...[arrayOf(held.map(({ jobId }) => jobId)), arrayOf(held.map(({ leaseNo }) => leaseNo))],
      ...[arrayOf(held.map(() => null)), arrayOf(held.map(() => null))],
    ]);
    return (rows ?? []).flatMap(({ job_id, lease_no, tenant_id }) =>
      job_id === null ? [] : [{ jobId: job_id, leaseNo: Number(lease_no), tenantId: tenant_id }],
    );
  },
};

const rateOf = (batch: number): string => `batches of ${batch}`;
const cpuOf = (batch: number): string => `server CPU, ${batch}`;
const FIGURES: readonly Figure[] = [
  ...BATCHES.map((n) => ({ name: rateOf(n), unit: "/s", better: "more" as const })),
  ...BATCHES.map((n) => ({ name: cpuOf(n), unit: "µs/job", better: "less" as const })),
];

/** One caller that settles a batch and claims the next: in two statements, in two at once, in one. */
export async function settleClaim(server: BenchServer, options: Options): Promise<string> {
  const bench = await openOneLane(server, { name: "settle_claim", workers: 2 });
  const samples: Sample[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const batch of BATCHES) {
      for (const [system, cycle] of Object.entries(CYCLE)) {
        const jobs = batch * CYCLES;
        await bench.fill(jobs);
        const cpuBefore = cpuMsOf(bench.serverPid);
        const began = performance.now();
        const lane = { laneNo: bench.laneNo, limit: batch, leaseSeconds: 30, limited: false };
        let held = await cycle(bench, [], lane);
        while (held.length > 0) held = await cycle(bench, held, lane);
        const ms = performance.now() - began;
        if ((await bench.left()) > 0) throw new Error(`${system}: some jobs have not ended`);
        samples.push({ system, figure: rateOf(batch), value: (jobs / ms) * 1000 });
        samples.push({ system, figure: cpuOf(batch), value: ((cpuMsOf(bench.serverPid) - cpuBefore) / jobs) * 1000 });
      }
    }
  }
  await bench.close();
  return table(FIGURES, samples, "at once");
}
