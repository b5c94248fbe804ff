import pg from "pg";
import { expect } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const ROUNDS = pick({ short: 1, long: 8 });
const JOBS = pick({ short: 30, long: 200 });
const HELD_MS = pick({ short: 2000, long: 5000 });
/** Locks that another long transaction may hold. */
const LOCKS = [
  "lock table app.live_jobs in access exclusive mode",
  "lock table app.job_attempts in share row exclusive mode",
  "select 1 from app.live_jobs for update",
  "lock table app.job_stat_deltas in access exclusive mode",
];

suite("R-10 another transaction locks the queue's tables for seconds: no deadlock, no lost job, and work resumes", async (build) => {
  const arena = await openArena();
  await arena.startScheduler();
  await arena.startWorker(build);
  await arena.startWorker(build);
  let slowest = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const text of LOCKS) {
      await arena.enqueueAll(JOBS);
      const blocker = new pg.Client({ connectionString: arena.database.adminUrl });
      await blocker.connect();
      await blocker.query("begin");
      await blocker.query(text);
      await arena.pause(HELD_MS, HELD_MS);
      await blocker.query("rollback");
      await blocker.end();
      const freedAt = Date.now();
      await waitFor(async () => (await startedSince(freedAt)) > 0, {
        withinMs: 30_000,
        what: `a start after: ${text}`,
      });
      slowest = Math.max(slowest, Date.now() - freedAt);
    }
  }

  async function startedSince(at: number): Promise<number> {
    await arena.enqueueSome([{ definitionKey: "speak" }]);
    const [row] = await arena.database.query<{ n: number }>(
      "select count(*)::int as n from app.job_attempts where started_at > to_timestamp($1::float8 / 1000)",
      [at],
    );
    return row?.n ?? 0;
  }
  const verify = async () => {
    arena.alive();
    const [row] = await arena.database.query<{ deadlocks: number }>(
      "select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()",
    );
    expect(row?.deadlocks).toBe(0);
  };
  return { arena, told: `${ROUNDS * LOCKS.length} locks, work went on after at most ${slowest} ms`, verify };
});
