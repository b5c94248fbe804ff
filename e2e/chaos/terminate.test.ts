import { expect } from "vitest";
import type { TestProcess } from "@/lib/testing/processes";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const ENDS = pick({ short: 4, long: 30 });
const JOBS = pick({ short: 120, long: 3000 });
const WORKERS = 2;

suite("R-7 SIGTERM under load: each worker ends with 0, no job waits for a lease to end, nothing finished runs again", async (build) => {
  const arena = await openArena();
  await arena.startScheduler();
  const env = { ...build, SHUTDOWN_GRACE_SECONDS: "6" };
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => arena.startWorker(env)));
  // These outlive every grace, until their third attempt.
  const long = { definitionKey: "say", payload: { run_ms: 60_000, from_attempt: 3, then_ms: 10 } };
  await arena.enqueueSome([long, long]);
  const codes: (number | null)[] = [];
  const toldAt = new Map<string, number>();
  const terminate = async (one: TestProcess) => {
    toldAt.set(one.workerId, Date.now());
    codes.push((await one.stop()).code);
  };
  for (let end = 0; end < ENDS; end += 1) {
    await arena.enqueueAll(Math.ceil(JOBS / ENDS));
    await arena.pause(200, 800);
    const [ending] = workers.splice(end % WORKERS, 1, await arena.startWorker(env)) as [TestProcess];
    await terminate(ending);
  }
  // Whatever runs on, until both long jobs have had their attempts taken from them.
  for (let turn = 0; turn < 3; turn += 1) {
    const [ending] = workers.splice(turn % WORKERS, 1, await arena.startWorker(env)) as [TestProcess];
    await terminate(ending);
  }
  const verify = async () => {
    expect(codes).toEqual(codes.map(() => 0));
    const rows = await arena.database.query<{ worker_id: string; at: Date }>(
      "select worker_id, finished_at as at from app.job_attempts where status = 'worker_lost'",
    );
    // A lease that a busy machine had lost before the signal is not the signal's doing.
    expect(rows.filter(({ worker_id, at }) => at.getTime() > (toldAt.get(worker_id) ?? Infinity))).toEqual([]);
  };
  return { arena, told: `${codes.length} ends`, verify };
});
