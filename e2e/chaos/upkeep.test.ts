import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect } from "vitest";
import { migrate } from "@/lib/db";
import { waitFor } from "@/lib/testing/processes";
import { nextMigration, schemaFolder } from "@/lib/testing/schema-folder";
import { type Arena, openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const ROUNDS = pick({ short: 1, long: 6 });
const NO_SCHEDULER_MS = pick({ short: 3000, long: 10_000 });
const READER_MS = pick({ short: 6000, long: 20_000 });
const PAUSE_MS = 20;
/** The longest wait of an enqueue behind a migration: one second, and five times that on a busy machine. */
const MOST_WAIT_MS = 1000 * 5;
/** Logs enough lines to fill a pipe without a reader. */
const LOG_LEVEL = "debug";

suite("R-14 work continues without loss through missing partitions, a blocked migration and unread logs", async (build) => {
  const arena = await openArena();
  await arena.defineHarm({ lease_seconds: 5, max_attempts: 50 });
  const env = { ...build, LOG_LEVEL };
  const workers = [await arena.startWorker(env, "full"), await arena.startWorker(env, "unread")];
  let isOver = false;
  let longest = 0;
  const caller = async () => {
    for (let n = 0; !isOver; n += 1) {
      const from = performance.now();
      const definitionKey = n % 4 === 0 ? "speak" : "harm";
      await arena.enqueueSome([{ definitionKey, ...(definitionKey === "harm" ? { payload: { how: "fine" } } : {}) }]);
      longest = Math.max(longest, performance.now() - from);
      await sleep(PAUSE_MS);
    }
  };
  const calling = Promise.all([caller(), caller()]);
  let strays = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await dropDays(arena);
    await sleep(NO_SCHEDULER_MS);
    strays += await straysIn(arena);
    const scheduler = await arena.startScheduler(env);
    await waitFor(async () => (await straysIn(arena)) === 0, {
      withinMs: 60_000,
      what: "rows in the days they belong to",
    });
    await migrateBehindReader(arena, round);
    if (round < ROUNDS - 1) await scheduler.stop();
  }
  isOver = true;
  await calling;
  const verify = async () => {
    arena.alive();
    for (const { child } of workers) expect(child.exitCode ?? child.signalCode).toBeNull();
    expect(strays).toBeGreaterThan(0);
    expect(longest).toBeLessThan(MOST_WAIT_MS);
    const ended =
      "select worker_id from app.job_attempts where finished_at > app.now() - interval '1 minute' group by 1";
    const busy = (await arena.database.query<{ worker_id: string }>(ended)).map(({ worker_id }) => worker_id);
    expect(busy.toSorted()).toEqual(workers.map(({ workerId }) => workerId).toSorted());
    const lost = "select 1 from app.job_attempts where status not in ('succeeded', 'released')";
    expect(await arena.database.query(lost)).toEqual([]);
  };
  const told = `${ROUNDS} rounds, ${strays} rows without a partition, an enqueue took at most ${Math.round(longest)} ms`;
  return { arena, told, verify };
});

/** Simulates days without a scheduler: no partition covers today, and its rows move to the DEFAULT partition. */
async function dropDays({ database }: Arena): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    for (const parent of ["jobs", "job_attempts", "job_logs"]) {
      const { rows } = await client.query<{ name: string }>(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1",
        [`app.${parent}`],
      );
      const days = rows.map(({ name }) => name).filter((name) => !name.endsWith("default"));
      await client.query("begin");
      for (const name of days) await client.query(`alter table app.${parent} detach partition ${name}`);
      for (const name of days) await client.query(`insert into app.${parent} select * from ${name}`);
      for (const name of days) await client.query(`drop table ${name}`);
      await client.query("commit");
    }
  } finally {
    await client.end();
  }
}

const straysIn = async ({ database }: Arena): Promise<number> =>
  (await database.query<{ n: number }>("select app.default_partition_rows()::int as n"))[0]?.n ?? 0;

/** Runs another migration, which waits for a reader of the table that every enqueue writes. */
async function migrateBehindReader({ database }: Arena, round: number): Promise<void> {
  const sql = `alter table app.live_jobs add column chaos_${round} int;`;
  const folder = schemaFolder({ [nextMigration("chaos")]: sql });
  const reader = new pg.Client({ connectionString: database.adminUrl });
  await reader.connect();
  await reader.query("begin");
  await reader.query("select count(*) from app.live_jobs");
  const migrating = migrate({ adminUrl: database.adminUrl, secret: database.secret, log: () => {}, folder });
  await sleep(READER_MS);
  await reader.query("rollback");
  await reader.end();
  expect((await migrating).applied).toHaveLength(1);
  // The next round creates one of this name again, and processes refuse a database that is newer than they are.
  await database.query("delete from app.schema_migrations where name like '%chaos%'");
}
