import { afterAll, expect } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { LEASE_SECONDS, openArena } from "./arena";
import { pick } from "./profile";
import { type FaultyLine, openProxy } from "./proxy";
import { suite } from "./suite";

const ROUNDS = pick({ short: 1, long: 10 });
const JOBS_PER_FAULT = pick({ short: 15, long: 60 });
/** Claims resume within ten seconds of the end of a fault. The rest is slack for a busy machine. */
const BACK_WITHIN_MS = 10_000 + 30_000;

interface Fault {
  readonly name: string;
  readonly play: (proxy: FaultyLine, pause: (low: number, high: number) => Promise<void>) => Promise<void>;
}

const within = <T>(work: Promise<T>, what: string): Promise<T> => {
  let done = false;
  void work.then(() => {
    done = true;
  });
  return waitFor(() => done, { withinMs: 60_000, what }).then(() => work);
};
const resetAt = (text: string, when: "before" | "after"): Fault => ({
  name: `reset ${when} ${text}`,
  play: (proxy) => within(proxy.resetAt(text, when), `a reset ${when} ${text}`),
});

const FAULTS: readonly Fault[] = [
  {
    name: "every connection cut, three times",
    play: async (proxy, pause) => {
      for (let n = 0; n < 3; n += 1) {
        proxy.cut();
        await pause(100, 500);
      }
    },
  },
  {
    name: "two seconds of delay",
    play: async (proxy, pause) => {
      proxy.delay(2000);
      await pause(3000, 3000);
      proxy.delay(0);
    },
  },
  {
    name: "half open for less than a lease",
    play: async (proxy, pause) => {
      proxy.hole(true);
      await pause(2000, 2500);
      proxy.hole(false);
    },
  },
  {
    name: "half open for longer than a lease, and then everything arrives",
    play: async (proxy, pause) => {
      proxy.hole(true);
      await pause(LEASE_SECONDS * 1000 + 2500, LEASE_SECONDS * 1000 + 3500);
      proxy.hole(false);
    },
  },
  resetAt("claim_jobs_", "after"),
  {
    // Without an answer to its mark, the worker stores these begins one by one.
    name: "reset after a note of starts, and after the starts that follow",
    play: async (proxy) => {
      // In one call, so that the begins follow at once.
      const both = proxy.resetAt("mark_begun_", "after").then(() => proxy.resetAt("start_attempts_", "after"));
      await within(both, "a reset after mark_begun, and after start_attempts");
    },
  },
  resetAt("finish_attempts_", "before"),
  resetAt("finish_attempts_", "after"),
  resetAt("requeue_attempts_", "after"),
];

suite("R-5 each job ends once and work resumes when connections break, stall or are reset during a write", async (build) => {
  const arena = await openArena();
  // Under a limit the claim does not mark the attempt as begun.
  await arena.limitWidely("fail");
  await arena.startScheduler();
  const proxy = await openProxy(arena.database.adminUrl);
  afterAll(() => proxy.close());
  const behind = await arena.startWorker({ ...build, DATABASE_URL: proxy.url });
  // This worker leaves the failing jobs to the one behind the proxy, which would always claim second.
  await arena.startWorker({ ...build, WORKER_CONCURRENCY: "2", WORKER_DEFINITIONS: "speak,doze" });
  let slowest = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const fault of FAULTS) {
      const flowing = arena.enqueueAll(JOBS_PER_FAULT);
      await Promise.all([flowing, keepFlowing(arena, fault.play(proxy, arena.pause))]);
      const back = Date.now();
      await waitFor(async () => (await claimsSince(back)) > 0, {
        withinMs: BACK_WITHIN_MS,
        what: `a claim after: ${fault.name}`,
      });
      slowest = Math.max(slowest, Date.now() - back);
    }
  }

  /** Counts claims of the worker behind the proxy. Enqueues first, so that it has jobs to claim. */
  async function claimsSince(at: number): Promise<number> {
    await arena.enqueueSome([{ definitionKey: "speak" }, { definitionKey: "speak" }, { definitionKey: "speak" }]);
    const [row] = await arena.database.query<{ n: number }>(
      `select (select count(*) from app.job_attempts where worker_id = $1 and claimed_at > to_timestamp($2::float8 / 1000))::int
        + (select count(*) from app.live_jobs where claimed_by_worker = $1 and claimed_at > to_timestamp($2::float8 / 1000))::int as n`,
      [behind.workerId, at],
    );
    return row?.n ?? 0;
  }
  const verify = () => {
    arena.alive();
    expect(behind.child.exitCode).toBeNull();
  };
  return { arena, told: `${ROUNDS * FAULTS.length} faults, claims went on after at most ${slowest} ms`, verify };
});

/** Enqueues jobs of every kind for as long as a fault lasts. */
async function keepFlowing(arena: Awaited<ReturnType<typeof openArena>>, fault: Promise<void>): Promise<void> {
  let over = false;
  const done = fault.finally(() => {
    over = true;
  });
  while (!over) {
    await arena.enqueueSome([{ definitionKey: "speak" }, { definitionKey: "fail", maxAttempts: 2 }]);
    await Promise.race([done, arena.pause(200, 300)]);
  }
  await done;
}
