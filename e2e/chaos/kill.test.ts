import { expect } from "vitest";
import type { TestProcess } from "@/lib/testing/processes";
import { LEASE_SECONDS, openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const KILLS = pick({ short: 4, long: 40 });
const JOBS = pick({ short: 200, long: 5000 });
const WORKERS = 3;
const CONCURRENCY = 5;
/** A lease expires within its length after the kill, and the sweep comes within two seconds. The rest is slack. */
const RESCUED_WITHIN_MS = LEASE_SECONDS * 1000 + 2000;
const SLACK_MS = 8000;

suite("R-1 kill -9 of workers under load loses no job, and their jobs are queued again within the lease and two seconds", async (build) => {
  const arena = await openArena();
  await arena.startScheduler();
  const env = { ...build, WORKER_CONCURRENCY: String(CONCURRENCY) };
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => arena.startWorker(env)));
  const killedAt = new Map<string, number>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await arena.enqueueAll(Math.ceil(JOBS / KILLS));
    await arena.pause(200, 800);
    const at = Math.floor(arena.random() * WORKERS);
    const [victim] = workers.splice(at, 1, await arena.startWorker(env)) as [TestProcess];
    killedAt.set(victim.workerId, Date.now());
    victim.signal("SIGKILL");
    await victim.exited;
  }
  const lost = () =>
    arena.database.query<{ worker_id: string; started: boolean; at: Date }>(
      "select worker_id, started_at is not null as started, finished_at as at from app.job_attempts where status = 'worker_lost'",
    );
  const verify = async () => {
    arena.alive();
    const rows = await lost();
    // On a busy machine a living worker may lose a lease too. The checker has verified its jobs.
    const ofKilled = rows.filter(({ worker_id }) => killedAt.has(worker_id));
    // Besides the running jobs, jobs whose end was not stored yet: the busier the machine, the more.
    const most = KILLS * CONCURRENCY * 3;
    expect(ofKilled.filter(({ started }) => started).length).toBeLessThanOrEqual(most);
    const waits = ofKilled.map(({ worker_id, at }) => at.getTime() - (killedAt.get(worker_id) ?? 0));
    console.info(`${rows.length} attempts lost, the last rescued ${Math.max(0, ...waits)} ms after its worker's end`);
    for (const wait of waits) expect(wait).toBeLessThan(RESCUED_WITHIN_MS + SLACK_MS);
  };
  return { arena, told: `${KILLS} kills`, verify };
});
