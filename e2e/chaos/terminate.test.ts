import { expect } from "vitest";
import type { TestProcess } from "@/lib/testing/processes";
import { openArena } from "./arena";
import { pick } from "./profile";
import { suite } from "./suite";

const ENDS = pick({ short: 4, long: 30 });
const JOBS = pick({ short: 120, long: 3000 });
const WORKERS = 2;

suite("R-7 SIGTERM under load: each worker exits 0, no job waits for a lease to expire, no finished job runs again", async (build) => {
  const arena = await openArena();
  await arena.startScheduler();
  const env = { ...build, SHUTDOWN_GRACE_SECONDS: "6" };
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => arena.startWorker(env)));
  // These run longer than every grace period, until their third attempt.
  const long = { definitionKey: "say", payload: { run_ms: 60_000, from_attempt: 3, then_ms: 10 } };
  await arena.enqueueSome([long, long]);
  const codes: (number | null)[] = [];
  const told = new Map<string, { readonly at: number; readonly output: () => string }>();
  const terminate = async (one: TestProcess) => {
    told.set(one.workerId, { at: Date.now(), output: one.output });
    codes.push((await one.stop()).code);
  };
  for (let end = 0; end < ENDS; end += 1) {
    await arena.enqueueAll(Math.ceil(JOBS / ENDS));
    await arena.pause(200, 800);
    const [ending] = workers.splice(end % WORKERS, 1, await arena.startWorker(env)) as [TestProcess];
    await terminate(ending);
  }
  // Other jobs run until both long jobs have lost their attempts.
  for (let turn = 0; turn < 3; turn += 1) {
    const [ending] = workers.splice(turn % WORKERS, 1, await arena.startWorker(env)) as [TestProcess];
    await terminate(ending);
  }
  const verify = async () => {
    expect(codes).toEqual(codes.map(() => 0));
    const rows = await arena.database.query<{ worker_id: string; finished_at: Date }>(
      "select worker_id, job_id, claimed_at, run_started_at, finished_at from app.job_attempts where status = 'worker_lost'",
    );
    // A lease lost on a busy machine before the signal does not count.
    const byStop = rows.filter((row) => row.finished_at.getTime() > (told.get(row.worker_id)?.at ?? Infinity));
    expect(byStop, byStop.map(({ worker_id }) => told.get(worker_id)?.output()).join("\n")).toEqual([]);
  };
  return { arena, told: `${codes.length} ends`, verify };
});
