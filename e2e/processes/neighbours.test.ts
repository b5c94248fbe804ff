import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { enqueueJob, getJob } from "@/lib/queue/testing";
import { waitFor } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { openStage } from "./stage";

/** Jobs of the other tenant, one after the other. */
const JOBS = Number(process.env.NEIGHBOUR_JOBS ?? 5);
/** The guarantee is one second. A busy machine gets five. */
const MOST_DELAY_MS = 5000;
const HOSTILE_BYTES = 13 * 1024 * 1024;

const stage = await openStage();
await stage.define("neighbour", { lease_seconds: 30, kill_grace_seconds: 0 });
const globex = { ...stage.scope, tenantId: (await accountsIn(stage.database).tenant("globex")).id };
let usual = 0;

/** Enqueues a command of the other tenant, which needs threads, and waits for its end; the milliseconds between, by the database's clock. */
async function timeOfOne(): Promise<number> {
  const { jobId } = await enqueueJob(stage.factory.web, globex, { definitionKey: "act", payload: {} });
  const job = await waitFor(
    async () => {
      const read = await getJob(stage.factory.web, globex, jobId);
      return read?.finished_at ? read : null;
    },
    { withinMs: 30_000, what: "the end of a job of the other tenant" },
  );
  expect(job.status, job.last_error ?? "").toBe("succeeded");
  return Date.parse(job.finished_at ?? "") - Date.parse(job.queued_at);
}

async function times(): Promise<number[]> {
  const taken: number[] = [];
  for (let job = 0; job < JOBS; job += 1) taken.push(await timeOfOne());
  return taken.toSorted((one, other) => one - other);
}

const median = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;

beforeAll(async () => {
  await stage.startWorker();
  await timeOfOne();
  usual = median(await times());
}, 120_000);

describe.skipIf(process.platform !== "linux")("a job of another tenant on the same worker is not delayed", () => {
  test.each([
    ["a command that forks without end", { kind: "fork" }],
    ["100 processes of a command that only compute", { kind: "spin", many: 100 }],
    ["a command that fills /tmp", { kind: "fill" }],
    ["output of 13 MB that might be tokens, without a newline", { kind: "print", text: "-eyJaaaaaa" }],
    ["output of 13 MB that might be private keys", { kind: "print", text: "-----BEGIN PRIVATE KEY-----" }],
  ])("by %s", { timeout: 240_000 }, async (name, what) => {
    const [ready, until] = [randomUUID(), randomUUID()].map(stage.diaryFile) as [string, string];
    const hostile = await stage.enqueue(
      "neighbour",
      { ...what, bytes: HOSTILE_BYTES, ready, until },
      { maxAttempts: 1 },
    );
    await waitFor(() => existsSync(ready), { withinMs: 90_000, what: "the first round" });
    let taken: number[] = [];
    try {
      taken = await times();
      expect((await stage.read(hostile)).status).toBe("running");
    } finally {
      writeFileSync(until, "");
    }
    await stage.settled(hostile, 90_000);
    console.info(`${name}: ${median(taken)} ms in the median, ${taken.at(-1)} at most; without it ${usual}`);
    expect((taken.at(-1) ?? 0) - usual).toBeLessThan(MOST_DELAY_MS);
  });
});
