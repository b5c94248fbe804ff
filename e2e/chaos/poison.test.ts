import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { maskShown } from "@/lib/execution/output/guesses";
import { nothingLeftOf } from "../processes/stage";
import { openArena } from "./arena";
import { pick } from "./profile";
import { BROKEN_DRAIN_MS, isBroken, suite, WITHOUT_QUARANTINE } from "./suite";

const KINDS = ["exit", "hang", "die", "flood", "fork"];
const OF_EACH = pick({ short: 1, long: 10 });
const MEGABYTES = pick({ short: 64, long: 1024 });
const MOST_RSS_MB = 300;
/** How the test build's handler `harm` ends the process that runs it. */
const ENDS = ["exit", "kill", "reject", "memory"];
const MOST_HEAP_MB = 96;
const DRAIN_MS = pick({ short: 120_000, long: 30 * 60_000 });

suite("R-8 each poison job ends as a dead letter, leaves no process behind, and the worker's memory stays bounded", async (build) => {
  const arena = await openArena();
  await arena.define("poison", { timeout_seconds: 10, max_attempts: 1, lease_seconds: 10 });
  await arena.startScheduler();
  const worker = await arena.startWorker(build);
  const poisoned: string[] = [];
  for (let n = 0; n < OF_EACH; n += 1) {
    for (const kind of KINDS) {
      const timeoutSeconds = kind === "hang" ? 1 : 120;
      const job = { definitionKey: "poison", payload: { kind, megabytes: MEGABYTES }, timeoutSeconds };
      poisoned.push(...(await arena.enqueueSome([job])));
      await arena.enqueueAll(9, () => ({ definitionKey: "speak" }));
    }
  }
  let largest = 0;
  const watching = setInterval(() => {
    largest = Math.max(largest, megabytesOf(worker.pid));
  }, 100);
  await arena.drained(isBroken(build) ? BROKEN_DRAIN_MS : DRAIN_MS).catch((error: unknown) => {
    if (!isBroken(build)) throw error;
  });
  clearInterval(watching);
  const verify = async () => {
    for (const id of poisoned) {
      const job = await arena.read(id);
      expect(job.status, JSON.stringify(job.last_error)).toBe("dead_letter");
      await nothingLeftOf(id);
    }
    const others = "select job_id from app.job_attempts where outcome <> 'succeeded' and job_id <> all ($1::uuid[])";
    expect(await arena.database.query(others, [poisoned])).toEqual([]);
    // Output is stored as written. Text that only resembles a secret is masked when it is shown.
    const tails = await arena.database.query<{ tail: string }>(
      "select stdout_tail as tail from app.job_attempts where stdout_tail like '%hunter2%'",
    );
    expect(tails.filter(({ tail }) => maskShown(tail)?.includes("hunter2"))).toEqual([]);
    expect(largest).toBeLessThan(MOST_RSS_MB);
    arena.alive();
  };
  return { arena, told: `${poisoned.length} poisoned jobs, the worker had at most ${largest} MB`, verify };
});

suite(
  "R-13 jobs that kill their worker end as dead letters, and each other job loses at most one attempt",
  async (build) => {
    const arena = await openArena();
    const retry = { strategy: "fixed", delay_seconds: 0.2, jitter: 0.5 } as const;
    await arena.defineHarm({ lease_seconds: 5, max_attempts: 3, retry });
    const neighbour = await arena.factory.tenant("neighbour");
    await arena.startScheduler();
    // Each of these jobs kills its process, so only the heap limits its memory.
    const env = { ...build, WORKER_MEMORY_LIMIT_MB: "0", NODE_OPTIONS: `--max-old-space-size=${MOST_HEAP_MB}` };
    let isOver = false;
    let crashes = 0;
    const keepRunning = async () => {
      while (!isOver) {
        const ended = await arena.startWorker(env).then(({ exited }) => exited, noNotice);
        if (!isOver && ended) crashes += 1;
      }
    };
    const workers = [keepRunning(), keepRunning()];
    const poisoned: string[] = [];
    for (let n = 0; n < OF_EACH; n += 1) {
      for (const how of ENDS) {
        poisoned.push(...(await arena.enqueueSome([{ definitionKey: "harm", payload: { how } }])));
        const ms = how === "exit" ? 8000 : 300;
        await arena.enqueueAll(3, () => ({ definitionKey: "harm", payload: { how: "fine", ms } }), neighbour);
        await arena.enqueueAll(5, () => ({ definitionKey: "speak" }), neighbour);
      }
    }
    await arena.drained(isBroken(build) ? BROKEN_DRAIN_MS : DRAIN_MS).catch((error: unknown) => {
      if (!isBroken(build)) throw error;
    });
    isOver = true;
    const crashedBefore = crashes;
    await arena.stopAll();
    await Promise.all(workers);
    const verify = async () => {
      for (const id of poisoned) {
        const job = await arena.read(id);
        expect([job.status, job.error_type, job.attempt_count], job.last_error ?? "").toEqual([
          "dead_letter",
          "worker_lost",
          3,
        ]);
        expect(job.last_error).toMatch(/ended its quarantine process/);
      }
      const others = "select job_id from app.job_attempts where outcome <> 'succeeded' and job_id <> all ($1::uuid[])";
      expect(await arena.database.query(others, [poisoned])).toEqual([]);
      const hurt = `select a.job_id from app.job_attempts a join app.jobs j on j.id = a.job_id
      where a.job_id <> all ($1::uuid[]) and a.status not in ('succeeded', 'released') and j.definition_id =
        (select id from app.job_definitions where key = 'harm') group by 1 having count(*) > 1`;
      expect(await arena.database.query(hurt, [poisoned])).toEqual([]);
    };
    return {
      arena,
      told: `${poisoned.length} handlers that end their process, ${crashedBefore} workers ended`,
      verify,
    };
  },
  WITHOUT_QUARANTINE,
);

const noNotice = () => null;

function megabytesOf(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024);
}
