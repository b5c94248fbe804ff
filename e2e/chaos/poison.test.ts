import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { maskShown } from "@/lib/execution/output/guesses";
import { nothingLeftOf } from "../processes/stage";
import { openArena } from "./arena";
import { pick } from "./profile";
import { BROKEN_DRAIN_MS, isBroken, suite } from "./suite";

const KINDS = ["exit", "hang", "die", "flood", "fork"];
const OF_EACH = pick({ short: 1, long: 10 });
const MEGABYTES = pick({ short: 64, long: 1024 });
const MOST_RSS_MB = 300;
const DRAIN_MS = pick({ short: 120_000, long: 30 * 60_000 });

suite("R-8 poison among other work: each ends as a dead letter, nothing of it is left, and the worker stays small", async (build) => {
  const arena = await openArena();
  await arena.define("poison", { timeoutSeconds: 10, maxAttempts: 1, leaseSeconds: 10 });
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
      expect(job.status, JSON.stringify(job.lastError)).toBe("dead_letter");
      await nothingLeftOf(id);
    }
    const others = "select job_id from app.job_attempts where outcome <> 'succeeded' and job_id <> all ($1::uuid[])";
    expect(await arena.database.query(others, [poisoned])).toEqual([]);
    // Output is stored as it was written; what only looks like a secret is masked wherever it is shown.
    const tails = await arena.database.query<{ tail: string }>(
      "select stdout_tail as tail from app.job_attempts where stdout_tail like '%hunter2%'",
    );
    expect(tails.filter(({ tail }) => maskShown(tail)?.includes("hunter2"))).toEqual([]);
    expect(largest).toBeLessThan(MOST_RSS_MB);
    arena.alive();
  };
  return { arena, told: `${poisoned.length} poisoned jobs, the worker had at most ${largest} MB`, verify };
});

function megabytesOf(pid: number): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024);
}
