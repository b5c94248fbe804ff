import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Database, Statement } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import {
  type ClaimedJob,
  cancelJob,
  createLimit,
  getJob,
  listAttempts,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Claimer } from "./claimer";
import { Supported } from "./supported";

const POLL_MS = 1000;
const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const log = createLogger({ process: "worker", level: "silent", format: "json" });

let claimed: ClaimedJob[];
let polls: number;
let claimer: Claimer | undefined;

interface Setup {
  readonly slots: number;
  readonly definitions?: readonly string[];
  readonly bands?: ReadonlySet<number>;
  /** Keys of the commands on this worker's disk; by default all of them. */
  readonly commands?: readonly string[];
  readonly db?: Database;
}

/** Starts a claimer with this many slots. Claimed jobs keep their slots until the test ends them. */
async function startClaimer({ slots, definitions, bands, commands, db = make.worker }: Setup) {
  const wanted = { queues: undefined, definitions, bands };
  const served = await Supported.read(make.worker, wanted, {
    hasHandler: () => false,
    hasCommand: (key) => commands?.includes(key) ?? true,
  });
  const capacity = { slots };
  claimer = new Claimer({
    db,
    log,
    workerId: "the-claimer",
    random: () => 0.5,
    capacity: () => ({ free: Math.max(0, capacity.slots - claimed.length), ahead: 0 }),
    isQuick: () => false,
    served: () => served,
    numbers: { numbers: () => 1, unanswered: () => undefined },
    onClaimed: (jobs) => void claimed.push(...jobs),
    onPolled: () => {
      polls += 1;
    },
  });
  claimer.start();
  return { claimer, capacity };
}

async function enqueue(scope: TenantScope, count: number, job: Parameters<typeof make.job>[1] = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await make.job(scope, job)).id);
  return ids;
}

/** Ends a job as its worker would, and notifies the claimer. */
async function end(of: Claimer, job: ClaimedJob | undefined): Promise<void> {
  if (!job) throw new Error("no such job was claimed");
  await settleAttempts(make.worker, [succeeded(job)]);
  claimed = claimed.filter((other) => other !== job);
  of.freed({ job, seconds: 0.01 });
}

const claimedOf = ({ tenantId }: TenantScope) => claimed.filter((job) => job.tenantId === tenantId).length;
const nextPolls = async (count: number) => {
  const from = polls;
  await waitFor(() => polls >= from + count, { what: "the next polls" });
};

beforeEach(async () => {
  claimed = [];
  polls = 0;
  await database.query("truncate app.live_jobs");
});
afterEach(() => claimer?.stop());

describe("a claimer", () => {
  test("divides its slots among tenants, however many jobs one of them has", async () => {
    const [busy, quiet] = [await make.tenant(), await make.tenant()];
    await enqueue(busy, 20);
    await enqueue(quiet, 2);
    await startClaimer({ slots: 4 });
    await waitFor(() => claimed.length === 4);
    expect([claimedOf(busy), claimedOf(quiet)]).toEqual([2, 2]);
  });

  test("gives all its slots to one tenant when no other has jobs", async () => {
    const alone = await make.tenant();
    await enqueue(alone, 7);
    await startClaimer({ slots: 5 });
    await waitFor(() => claimed.length === 5);
  });

  test("holds no more jobs than slots, and fills a slot as soon as it is free", async () => {
    const scope = await make.tenant();
    await enqueue(scope, 6);
    const { claimer, capacity } = await startClaimer({ slots: 3 });
    await waitFor(() => claimed.length === 3);
    await nextPolls(1);
    expect(claimed).toHaveLength(3);
    capacity.slots += 1;
    const before = polls;
    claimer.freed();
    await waitFor(() => claimed.length === 4);
    expect(polls).toBe(before);
  });

  test("claims at once when a notification names a lane, also an unknown one", async () => {
    const scope = await make.tenant();
    const { claimer } = await startClaimer({ slots: 5 });
    for (let n = 1; n <= 2; n += 1) {
      await nextPolls(1);
      const [id] = await enqueue(scope, 1);
      const [row] = await database.query("select lane_no from app.live_jobs where job_id = $1", [id]);
      const before = polls;
      claimer.wake([row?.lane_no]);
      await waitFor(() => claimed.length === n);
      expect(polls).toBe(before);
    }
  });

  test("finds jobs by polling when no notification arrives", async () => {
    const scope = await make.tenant();
    await startClaimer({ slots: 5 });
    await nextPolls(1);
    await enqueue(scope, 1);
    await waitFor(() => claimed.length === 1, { withinMs: 3 * POLL_MS });
  });

  test("while full polls are costly, finds new jobs without one, also of a better priority, and others with the next, which `*` requests", async () => {
    const wholePolls: unknown[] = [];
    const froms: unknown[] = [];
    // Takes as long as a poll that reads 300,000 dead index entries.
    const run = async <R extends object>(statement: Statement, values?: readonly unknown[]): Promise<R[]> => {
      if (statement.name.startsWith("claim_jobs")) froms.push(...((values?.[5] ?? []) as unknown[]));
      const rows = await make.worker.run<R>(statement, values);
      if (!statement.name.startsWith("poll_work")) return rows;
      wholePolls.push(statement);
      await delay(400);
      return rows;
    };
    const scope = await make.tenant();
    const hasClaimed = (count: number) => waitFor(() => claimed.length === count, { withinMs: 30_000 });
    await enqueue(scope, 1);
    const { claimer: started } = await startClaimer({ slots: 9, db: { ...make.worker, run } });
    await hasClaimed(1);
    const wholeAt = performance.now();
    await enqueue(scope, 1);
    await hasClaimed(2);
    await enqueue(scope, 1, { priority: 99 });
    await hasClaimed(3);
    expect(wholePolls).toHaveLength(1);
    // A job from a minute ago that becomes ready again sorts before all jobs claimed so far.
    const comesBack = async () => {
      const [back] = await enqueue(scope, 1, { scheduledFor: new Date(Date.now() + 3_600_000) });
      const [old] = await database.query("select app.id_floor(now() - interval '1 minute') as id");
      await database.query("update app.jobs set id = $2 where id = $1", [back, old?.id]);
      const ready = "update app.live_jobs set job_id = $2, sort_key = 1, ready = true where job_id = $1";
      await database.query(ready, [back, old?.id]);
    };
    await comesBack();
    started.wake("*");
    await hasClaimed(4);
    expect(performance.now() - wholeAt).toBeLessThan(20 * 400);
    await comesBack();
    await hasClaimed(5);
    expect(wholePolls).toHaveLength(3);
    expect(froms.filter((from) => !Number.isFinite(from))).toEqual([]);
  });

  test("leaves jobs alone that it does not support", async () => {
    const scope = await make.tenant();
    const [mine, other] = [await make.definition(), await make.definition()];
    await enqueue(scope, 1, { definitionKey: other.key });
    await enqueue(scope, 1, { definitionKey: mine.key, priority: 900 });
    const [wanted] = await enqueue(scope, 1, { definitionKey: mine.key, priority: 1 });
    await startClaimer({ slots: 5, definitions: [mine.key], bands: new Set([0]) });
    await waitFor(() => claimed.length === 1);
    await nextPolls(2);
    expect(claimed.map(({ jobId }) => jobId)).toEqual([wanted]);
  });

  test("OPS-08 spends no attempt of a definition whose command it does not have", async () => {
    const scope = await make.tenant();
    const old = await make.definition({ command_key: "old" });
    const added = await make.definition({ command_key: "added" });
    const [unknown = ""] = await enqueue(scope, 1, { definitionKey: added.key });
    await enqueue(scope, 1, { definitionKey: old.key });
    await startClaimer({ slots: 5, commands: ["old"] });
    await waitFor(() => claimed.length === 1);
    await nextPolls(2);
    expect(claimed).toHaveLength(1);
    const job = await getJob(make.web, scope, unknown);
    expect([job?.status, job?.attempt_count]).toEqual(["queued", 0]);
    expect(await listAttempts(make.web, scope, unknown)).toEqual([]);
  });

  test("keeps its last slot from a tenant that fills the others, for another tenant's next job", async () => {
    const [busy, quiet] = [await make.tenant(), await make.tenant()];
    await enqueue(busy, 20);
    await enqueue(quiet, 1);
    const { claimer } = await startClaimer({ slots: 3 });
    await waitFor(() => claimed.length === 3);
    expect([claimedOf(busy), claimedOf(quiet)]).toEqual([2, 1]);
    await end(
      claimer,
      claimed.find(({ tenantId }) => tenantId === quiet.tenantId),
    );
    await nextPolls(2);
    expect([claimedOf(busy), claimedOf(quiet)]).toEqual([2, 0]);
    await enqueue(quiet, 1);
    await waitFor(() => claimedOf(quiet) === 1, { withinMs: 3 * POLL_MS });
  });

  test("claims the next job under a limit as soon as a job ends", async () => {
    const scope = await make.tenant();
    const { key } = await make.definition();
    await createLimit(make.platform, { scope: "definition", definition_key: key, max_running: 2 });
    await enqueue(scope, 6, { definitionKey: key });
    const { claimer } = await startClaimer({ slots: 5 });
    await waitFor(() => claimed.length === 2);
    await nextPolls(1);
    expect(claimed).toHaveLength(2);
    const before = polls;
    await end(claimer, claimed[0]);
    await waitFor(() => claimed.length === 2);
    expect(polls).toBe(before);
  });

  test("claims the next job under a limit also when a job ends during a claim that does not count it", async () => {
    const scope = await make.tenant();
    const { key } = await make.definition();
    await createLimit(make.platform, { scope: "definition", definition_key: key, max_running: 1 });
    await enqueue(scope, 2, { definitionKey: key });
    let answer: (() => void) | undefined;
    let isAsked = false;
    const db: Database = {
      ...make.worker,
      run: async <R extends object>(statement: Statement, values?: readonly unknown[]) => {
        const rows = await make.worker.run<R>(statement, values);
        if (statement.name.startsWith("reserve_slots") && claimed.length === 1 && !isAsked) {
          isAsked = true;
          await new Promise<void>((resolve) => {
            answer = resolve;
          });
        }
        return rows;
      },
    };
    const started = await startClaimer({ slots: 5, db });
    await waitFor(() => answer);
    await end(started.claimer, claimed[0]);
    const before = polls;
    answer?.();
    await waitFor(() => claimed.length === 1);
    expect(polls).toBe(before);
  });

  test("starts the next job under a rate limit when it is due, without a poll", async () => {
    const scope = await make.tenant();
    const { key } = await make.definition();
    await createLimit(make.platform, { scope: "definition", definition_key: key, starts_per_second: 20, burst: 1 });
    await enqueue(scope, 10, { definitionKey: key });
    await startClaimer({ slots: 10 });
    await waitFor(() => claimed.length === 1);
    const before = polls;
    await waitFor(() => claimed.length === 10, { withinMs: 5 * POLL_MS });
    expect(polls - before).toBeLessThan(5);
  });

  test("claims nothing after it is stopped", async () => {
    const scope = await make.tenant();
    const { claimer } = await startClaimer({ slots: 5 });
    await nextPolls(1);
    await claimer.stop();
    const [id = ""] = await enqueue(scope, 1);
    claimer.wake("*");
    claimer.freed();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS + 200));
    expect(claimed).toEqual([]);
    expect((await cancelJob(make.web, scope, id)).status).toBe("canceled");
  });
});
