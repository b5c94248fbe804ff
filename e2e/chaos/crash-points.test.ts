import { expect } from "vitest";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { type Arena, openArena } from "./arena";
import { isLong, pick } from "./profile";
import { type Build, suite } from "./suite";

const WORKER_WRITES = [
  "register_worker",
  "claim_jobs",
  "reserve_slots",
  "claim_reserved",
  "start_attempts",
  "mark_begun",
  "append_logs",
  "extend_leases",
  "finish_attempts",
  "requeue_attempts",
];
/** Points of a worker come first, because the first living scheduler would rescue the dead worker's jobs. */
const SCHEDULER_WRITES = [
  "lock_expired",
  "requeue_attempts",
  "promote_due",
  "expire_waiting",
  "fold_stat_deltas",
  "beat_term",
  "commit",
];
const MOMENTS = ["before", "sent", "after"];
const ROUNDS = pick({ short: 1, long: 5 });
const REACHED_MS = 60_000;

suite("R-4 a process that dies before, during or after any of its writes leaves no partial write", async (build) => {
  const arena = await openArena();
  await arena.limitWidely("doze");
  let scheduler = await arena.startScheduler();
  const reached: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const point of pointsOf(arena, WORKER_WRITES))
      reached.push(await dieAt(arena, point, { name: "worker", build }));
    await scheduler.stop();
    reached.push(await dieAt(arena, "spawned", { name: "worker", build }));
    for (const point of pointsOf(arena, SCHEDULER_WRITES))
      reached.push(await dieAt(arena, point, { name: "scheduler", build }));
    scheduler = await arena.startScheduler();
  }
  await arena.startWorker(build);
  return { arena, told: `${reached.length} deaths: ${reached.join(", ")}` };
});

/** One random moment for each write. The long form uses all moments. */
function pointsOf({ random }: Arena, writes: readonly string[]): string[] {
  return writes.flatMap((write) => {
    const drawn = MOMENTS[Math.floor(random() * MOMENTS.length)];
    return (isLong ? MOMENTS : [drawn]).map((moment) => `${moment}:${write}`);
  });
}

/** Starts a process that dies at a point, gives it work of every kind, and waits for its death. */
async function dieAt(arena: Arena, point: string, { name, build }: { name: "worker" | "scheduler"; build: Build }) {
  await arena.enqueueSome([
    { definitionKey: "speak" },
    { definitionKey: "fail", maxAttempts: 2 },
    { definitionKey: "doze", payload: { seconds: "2" } },
    { definitionKey: "doze", payload: { seconds: "0.05" } },
    { definitionKey: "speak", scheduledFor: new Date(Date.now() + 700) },
    // A worker stores its first begin outside a claim by itself. Later begins are covered by a mark.
    { definitionKey: "doze", payload: { seconds: "0.05" }, scheduledFor: new Date(Date.now() + 1500) },
    {
      definitionKey: "speak",
      scheduledFor: new Date(Date.now() + 3_600_000),
      expiresAt: new Date(Date.now() + 3_601_000),
    },
  ]);
  await arena.database.query(
    "update app.live_jobs set expires_at = app.now() + interval '1 s' where scheduled_for > app.now() + interval '30 min'",
  );
  const env = { ...build, LEASEHOLD_TEST_FAILPOINT: `${point}=kill` };
  const start = name === "worker" ? arena.startWorker(env) : arena.startScheduler(env);
  const dying = await start.catch((error: Error) => error);
  if (!(dying instanceof Error)) await died(dying, point);
  else {
    // Only a point before the first job may kill the process before it is ready.
    expect(dying.message, point).toMatch(/ended with null before it was ready/);
    expect(name === "scheduler" || point.endsWith(":register_worker"), point).toBe(true);
  }
  return `${name} ${point}`;
}

async function died({ exited, child, output }: TestProcess, point: string): Promise<void> {
  await waitFor(() => child.signalCode !== null || child.exitCode !== null, {
    withinMs: REACHED_MS,
    what: `death at ${point}`,
  });
  expect((await exited).signal, `${point}: ${output()}`).toBe("SIGKILL");
}
