import pg from "pg";
import type { Options } from "../lib/options";
import { batches, timed } from "../lib/program.mjs";
import { type Figure, type Sample, table } from "../lib/report";
import type { BenchServer } from "../lib/server";
import { openSystems, type System } from "../lib/systems";

const CALLERS = 16;
const BULK_SIZE = 500;
const FIGURES: readonly Figure[] = [
  { name: "single", unit: "/s, 16 callers", better: "more" },
  { name: "bulk", unit: "/s, batches of 500", better: "more" },
];

interface Work {
  readonly singles: number;
  readonly jobs: number;
}

/** Jobs that are accepted durably, one by one from many callers at once, and in batches from one caller. */
export async function enqueue(server: BenchServer, options: Options): Promise<string> {
  const systems = await openSystems(server, { only: options.only, without: ["graphile-batched"] });
  const bare = await openBare(server);
  const samples: Sample[] = [];
  const work = { singles: Math.ceil(options.jobs / 10), jobs: options.jobs };
  for (let round = 0; round < options.rounds; round += 1) {
    samples.push(...(await bareRound(bare, work)));
    for (const system of systems) samples.push(...(await queueRound(system, work)));
  }
  await Promise.all([bare.end(), ...systems.map((system) => system.close())]);
  return table(FIGURES, samples, "leasehold");
}

async function queueRound(system: System, { singles, jobs }: Work): Promise<Sample[]> {
  await system.reset();
  const single = await system.client.call<Timing>("singles", { count: singles, callers: CALLERS });
  const bulk = await system.client.call<Timing>("bulks", { count: jobs, size: BULK_SIZE });
  return rates(system.name, { singles, jobs }, [single, bulk]);
}

/** The least that any queue has to do: one row of the same payload, and a commit. */
async function openBare(server: BenchServer): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: await server.createDatabase("bench_bare"), max: 20 });
  await pool.query("create table jobs (id uuid primary key default gen_random_uuid(), payload jsonb not null)");
  return pool;
}

async function bareRound(pool: pg.Pool, { singles, jobs }: Work): Promise<Sample[]> {
  await pool.query("truncate jobs");
  const insert = (tags: readonly number[]) =>
    pool.query({
      name: "insert",
      text: "insert into jobs (payload) select * from unnest($1::jsonb[])",
      values: [tags.map((tag) => JSON.stringify({ tag }))],
    });
  const single = await timed({ count: singles, callers: CALLERS, send: (n) => insert([n]) });
  const all = batches({ from: 0, count: jobs, size: BULK_SIZE });
  const bulk = await timed({ count: all.length, callers: 1, send: (n) => insert(all[n] ?? []) });
  return rates("bare INSERT", { singles, jobs }, [single, bulk]);
}

interface Timing {
  readonly ms: number;
}

function rates(system: string, { singles, jobs }: Work, [single, bulk]: readonly [Timing, Timing]): Sample[] {
  return [
    { system, figure: "single", value: (singles / single.ms) * 1000 },
    { system, figure: "bulk", value: (jobs / bulk.ms) * 1000 },
  ];
}
