import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inspect } from "@/lib/testing/checker";
import { type TestProcess, waitFor } from "@/lib/testing/processes";
import { type Arena, LEASE_SECONDS, NO_FENCE, openArena } from "./arena";

/** The writes of a lease holder, each with the job that causes it. */
const WRITES: readonly {
  readonly statement: string;
  readonly payload: Record<string, unknown>;
  readonly maxAttempts?: number;
}[] = [
  { statement: "start_attempts", payload: {} },
  { statement: "mark_begun", payload: {} },
  { statement: "finish_attempts", payload: {} },
  { statement: "requeue_attempts", payload: { exit: 1 } },
  { statement: "append_logs", payload: {} },
  { statement: "report_progress", payload: { progress: true, run_ms: 300 } },
  { statement: "extend_leases", payload: { run_ms: 60_000 } },
];

const isStopped = ({ pid }: TestProcess): boolean =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("T") ?? false;

/**
 * One frozen worker for each kind of write: it stops right before it sends the write of its attempt, sleeps until another
 * worker runs the job under the next lease, and wakes.
 */
async function freezeAndWake(arena: Arena, build: Record<string, string>) {
  const frozen = await Promise.all(
    WRITES.map(async ({ statement, payload }) => {
      const key = `${statement.replaceAll("_", "-")}`;
      await arena.define(key, { command_key: "say", lease_seconds: LEASE_SECONDS, max_attempts: 5 });
      if (statement === "start_attempts" || statement === "mark_begun") await arena.limitWidely(key);
      const freeze = { LEASEHOLD_TEST_FAILPOINT: `before:${statement}=stop`, WORKER_DEFINITIONS: key };
      const worker = await arena.startWorker({ ...freeze, ...build });
      const until = arena.diaryFile(`${key} may end`);
      const enqueue = async () =>
        (
          await arena.enqueueSome([
            { definitionKey: key, payload: { ...payload, from_attempt: 2, then_ms: 60_000, until } },
          ])
        )[0] ?? "";
      let jobId = await enqueue();
      // A worker stores its first begin outside a claim by itself, and later begins with a mark. If the first lease
      // expires on a busy machine before its job begins, the worker stops at this job's mark.
      if (statement === "mark_begun" && (await endsBeforeStop(arena, worker, jobId))) jobId = await enqueue();
      return { statement, key, worker, until, jobId };
    }),
  );
  await Promise.all(
    frozen.map(({ worker, statement }) =>
      waitFor(() => isStopped(worker), { withinMs: 120_000, what: `the stop before ${statement}` }),
    ),
  );
  const other = await arena.startWorker({ WORKER_CONCURRENCY: "20", ...build });
  return { frozen, other };
}

/** Waits until the job has ended, or the worker is stopped. Returns true if the job has ended. */
async function endsBeforeStop(arena: Arena, worker: TestProcess, jobId: string): Promise<boolean> {
  const isOver = async () =>
    (await arena.database.query("select 1 from app.live_jobs where job_id = $1", [jobId])).length === 0;
  await waitFor(async () => isStopped(worker) || (await isOver()), {
    withinMs: 120_000,
    what: `the end of the first job ${jobId}`,
  });
  return isOver();
}

/** Waits until each job runs under its second lease, wakes the frozen workers, and lets the jobs end once they have written. */
async function stage(build: Record<string, string>, hasWritten: (worker: TestProcess) => boolean) {
  const arena = await openArena();
  await arena.startScheduler();
  const { frozen, other } = await freezeAndWake(arena, build);
  const leases = new Map<string, unknown>();
  for (const { jobId } of frozen) {
    const lease = await waitFor(
      async () => {
        const now = await leaseOf(arena, jobId);
        return now.leaseNo >= 2 && now.worker === other.workerId ? now : null;
      },
      { withinMs: 120_000, what: `another worker's lease of ${jobId}` },
    );
    leases.set(jobId, lease);
  }
  for (const { worker } of frozen) worker.signal("SIGCONT");
  for (const { worker, statement } of frozen) {
    await waitFor(() => hasWritten(worker), { withinMs: 30_000, what: `the late ${statement}` });
  }
  return { arena, frozen, leases };
}

async function leaseOf({ database }: Arena, jobId: string) {
  const [row] = await database.query<{ lease_no: number; worker: string }>(
    `select lease_no::int as lease_no, claimed_by_worker as worker from app.live_jobs
     where job_id = $1 and attempt_started_at is not null`,
    [jobId],
  );
  return { leaseNo: row?.lease_no ?? 0, worker: row?.worker };
}

describe("R-2 a worker that freezes before a write and wakes after another worker claimed the job", () => {
  test("LEASE-01 cannot start, complete, fail, log, report or renew: each late write is refused", async () => {
    const { arena, frozen, leases } = await stage({}, (worker) => /lease (?:was )?lost/.test(worker.output()));
    for (const { jobId, statement } of frozen) {
      expect(await leaseOf(arena, jobId), statement).toEqual(leases.get(jobId));
    }
    for (const { until } of frozen) writeFileSync(until, "");
    await arena.drained(60_000);
    const { attempts } = await arena.check();
    await arena.stopAll();
    console.info(`${frozen.length} late writes refused; ${attempts} attempts`);
  });

  test("in a build without the fence some late writes are accepted, and the checker reports them", async () => {
    const { arena, frozen } = await stage(NO_FENCE, () => true);
    for (const { until } of frozen) writeFileSync(until, "");
    const staleSettles = async () => (await inspect(arena.database, arena.evidence())).counts["stale settle accepted"];
    await waitFor(async () => ((await staleSettles()) ?? 0) > 0, {
      withinMs: 120_000,
      what: "a late result that is taken",
    });
    await arena.stopAll();
  });
});
