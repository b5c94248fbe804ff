import pg from "pg";
import { cpuMsOf } from "../lib/cpu";
import type { Options } from "../lib/options";
import { batches, timed } from "../lib/program.mjs";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { inTurn, openSystems, type System } from "../lib/systems";

const CALLERS = 16;
const BULK_SIZE = 500;
const RATES: readonly Figure[] = [
  { name: "single", unit: `/s, ${CALLERS} callers`, better: "more" },
  { name: "alone", unit: "/s, 1 caller", better: "more" },
  { name: "bulk", unit: `/s, batches of ${BULK_SIZE}`, better: "more" },
];
const COSTS: readonly Figure[] = RATES.map(({ name }) => ({
  name: `${name} CPU`,
  unit: "µs/job, server + client",
  better: "less",
}));

/** The target of the jobs: a queue or a bare table. */
interface Target {
  readonly name: string;
  reset(): Promise<unknown>;
  singles(work: { count: number; callers: number }): Promise<Timing>;
  bulks(work: { count: number; size: number }): Promise<Timing>;
}

/**
 * Jobs that are accepted durably, one by one from many callers at once and from one, and in batches from one caller. The
 * first round warms up the processes and is not counted.
 */
export async function enqueue(server: BenchServer, options: Options): Promise<string> {
  const systems = await openSystems(server, { ...options, without: ["graphile-batched"] });
  const bare = await openBare(server);
  const targets = [targetOver(bare), ...systems.map(targetOf)];
  const samples: Sample[] = [];
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const target of inTurn(targets, round)) {
      const taken = await takeRound(target, { jobs: options.jobs, serverPid: server.pid });
      if (round > 0) samples.push(...taken);
    }
  }
  await Promise.all([bare.end(), ...systems.map((system) => system.close())]);
  return [RATES, COSTS].map((figures) => table(figures, samples, "leasehold")).join("\n\n");
}

async function takeRound(target: Target, { jobs, serverPid }: { jobs: number; serverPid: number }): Promise<Sample[]> {
  await target.reset();
  const singles = Math.ceil(jobs / 10);
  const alone = Math.ceil(singles / 4);
  const takes: [figure: string, count: number, take: () => Promise<Timing>][] = [
    ["single", singles, () => target.singles({ count: singles, callers: CALLERS })],
    ["alone", alone, () => target.singles({ count: alone, callers: 1 })],
    ["bulk", jobs, () => target.bulks({ count: jobs, size: BULK_SIZE })],
  ];
  const samples: Sample[] = [];
  for (const [figure, count, take] of takes) {
    const before = cpuMsOf(serverPid);
    const { ms, cpuMs } = await take();
    const cost = cpuMsOf(serverPid) - before + cpuMs;
    samples.push({ system: target.name, figure, value: (count / ms) * 1000 });
    samples.push({ system: target.name, figure: `${figure} CPU`, value: (cost / count) * 1000 });
  }
  return samples;
}

const targetOf = (system: System): Target => ({
  name: system.name,
  reset: () => system.reset(),
  singles: (work) => system.client.call<Timing>("singles", work),
  bulks: (work) => system.client.call<Timing>("bulks", work),
});

/** The minimum for any queue: one row with the same payload, and a commit. */
async function openBare(server: BenchServer): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: await server.createDatabase("bench_bare"), max: 20 });
  await pool.query("create table jobs (id uuid primary key default gen_random_uuid(), payload jsonb not null)");
  return pool;
}

function targetOver(pool: pg.Pool): Target {
  const insert = (tags: readonly number[]) =>
    pool.query({
      name: "insert",
      text: "insert into jobs (payload) select * from unnest($1::jsonb[])",
      values: [tags.map((tag) => JSON.stringify({ tag }))],
    });
  return {
    name: "bare INSERT",
    reset: () => pool.query("truncate jobs"),
    singles: (work) => timed({ ...work, send: (n) => insert([n]) }),
    bulks({ count, size }) {
      const all = batches({ from: 0, count, size });
      return timed({ count: all.length, callers: 1, send: (n) => insert(all[n] ?? []) });
    },
  };
}

interface Timing {
  readonly ms: number;
  /** Processor time of the client. */
  readonly cpuMs: number;
}
