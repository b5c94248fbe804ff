import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Database, DatabaseError } from "@/lib/db";
import { defineJob, type JobHandler, loadCommandRegistry } from "@/lib/execution";
import { createLogger } from "@/lib/observability/log";
import {
  type ClaimedJob,
  cancelJob,
  getJob,
  listAttempts,
  rescueExpiredLeases,
  settleAttempts,
  updateDefinition,
} from "@/lib/queue";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/factories";
import { waitFor } from "@/lib/testing/processes";
import { failingOnce } from "./failing-once.fixture";
import { processClock } from "./lease-protocol";
import type { LeaseEvent } from "./leases";
import { Runner } from "./runner";
import { Settler } from "./settler";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const sharedFolder = mkdtempSync(path.join(tmpdir(), "leasehold-runner-"));
chmodSync(sharedFolder, 0o755); // commands may run as another user
afterAll(async () => {
  await make.close();
  rmSync(sharedFolder, { recursive: true, force: true });
});

const log = createLogger({ process: "worker", level: "silent", format: "json" });
const registry = await loadCommandRegistry("e2e/processes/commands/commands.json", { sharedFolder });
const { key, id: definitionId } = await make.definition({
  executor: "handler",
  killGraceSeconds: 60,
  argSchema: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false },
});

/** Attempts under way, to be ended one by one; they do not listen to their signal. */
let underWay: { attempt: number; stopped: () => boolean; end: () => void }[];
/** What the lease thread would tell each lease. */
let tell: Map<number, (event: LeaseEvent) => void>;
let runner: Runner;

const handler: JobHandler = defineJob({
  key,
  schema: z.looseObject({}),
  run: ({ attempt, signal }) =>
    new Promise((resolve) => {
      underWay.push({ attempt, stopped: () => signal.aborted, end: () => resolve({ attempt }) });
    }),
});

beforeEach(() => {
  underWay = [];
  tell = new Map();
  runner = runnerOn(make.worker);
});

function runnerOn(db: Database, places = 10): Runner {
  return new Runner({
    workerId: "the-runner",
    db,
    log,
    leases: {
      hold: (leases, onEvent) => {
        for (const lease of leases) tell.set(lease.leaseNo, (event) => onEvent(lease, event));
      },
      limit: () => undefined,
      drop: () => undefined,
      spawned: () => undefined,
    },
    settler: new Settler(make.worker, log, () => 0.5),
    tools: {
      worker: make.worker,
      web: make.web,
      registry,
      handlers: new Map([[key, handler]]),
      providerRoots: [],
      maxTimeoutSeconds: 3600,
    },
    logMaxBytes: 1000,
    random: () => 0.5,
    places,
    onFree: () => undefined,
  });
}

async function claimed(payload: unknown = {}): Promise<ClaimedJob> {
  const { id } = await make.job(scope, { definitionKey: key, payload });
  return claimAgain(id);
}

async function claimAgain(jobId: string): Promise<ClaimedJob> {
  const job = (await make.claim("the-runner")).find((one) => one.jobId === jobId);
  if (!job) throw new Error("the job was not claimed");
  return job;
}

const statuses = async (jobId: string) =>
  ((await listAttempts(make.web, scope, jobId)) ?? [])
    .toSorted((a, b) => a.attemptNo - b.attemptNo)
    .map((a) => a.status);
const statusOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.status;
/** Of a job that was given back without having begun. */
const unspent = ["queued", 0, "released"];
async function spentOn(jobId: string) {
  const job = await getJob(make.web, scope, jobId);
  return [job?.status, job?.attemptCount, ...(await statuses(jobId))];
}
const noNotice = () => undefined;

describe("a runner", () => {
  test("LEASE-01 keeps count of a job that it claims again before it notices that the first lease is lost", async () => {
    const first = await claimed();
    runner.take([first], processClock());
    await waitFor(() => underWay.length === 1);
    await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
      first.jobId,
    ]);
    await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
    runner.take([await claimAgain(first.jobId)], processClock());
    await waitFor(() => underWay.length === 2);
    expect(runner.count).toBe(2);

    underWay[0]?.end();
    await waitFor(() => runner.count === 1);
    let drained = false;
    const draining = runner.drain(60_000, noNotice).then(() => {
      drained = true;
    });
    await new Promise(setImmediate);
    expect(drained).toBe(false);
    underWay[1]?.end();
    await draining;
    expect(await statuses(first.jobId)).toEqual(["worker_lost", "succeeded"]);
    expect((await getJob(make.web, scope, first.jobId))?.result).toEqual({ attempt: 2 });
  });

  test("LEASE-01 is done with an attempt at once when its lease is lost, and records nothing of it", async () => {
    const job = await claimed();
    runner.take([job], processClock());
    await waitFor(() => underWay.length === 1);
    tell.get(job.leaseNo)?.("lost");
    await waitFor(() => runner.count === 0);
    underWay[0]?.end();
    expect([underWay[0]?.stopped(), await statusOf(job.jobId), await statuses(job.jobId)]).toEqual([
      true,
      "running",
      ["running"],
    ]);
  });

  test("tells an attempt that its job was canceled", async () => {
    const job = await claimed();
    runner.take([job], processClock());
    await waitFor(() => underWay.length === 1);
    await cancelJob(make.web, scope, job.jobId);
    runner.cancel([job.jobId]);
    expect(underWay[0]?.stopped()).toBe(true);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(await statusOf(job.jobId)).toBe("canceled");
  });

  test("LEASE-10 that drains gives back what does not end in time, and what it still gets, unspent", async () => {
    const [long, late] = [await claimed(), await claimed()];
    runner.take([long], processClock());
    await waitFor(() => underWay.length === 1);
    const draining = runner.drain(50, noNotice);
    runner.take([late], processClock());
    await waitFor(() => underWay[0]?.stopped());
    underWay[0]?.end();
    await draining;
    for (const { jobId } of [long, late]) expect(await spentOn(jobId)).toEqual(unspent);
    expect(underWay).toHaveLength(1);
  });

  test.each([{ stored: false }, { stored: true }])(
    "LEASE-31 gives a job back unspent when the database fails at its start (stored: $stored)",
    async ({ stored }) => {
      const job = await claimed();
      const error = new DatabaseError({ kind: "unavailable", connectionLost: true });
      runner = runnerOn(failingOnce(make.worker, error, { stored }));
      runner.take([job], processClock());
      await waitFor(() => runner.count === 0);
      expect(await spentOn(job.jobId)).toEqual(unspent);
      expect(underWay).toEqual([]);
      runner.take([await claimAgain(job.jobId)], processClock());
      await waitFor(() => underWay.length === 1);
      underWay[0]?.end();
      await waitFor(() => runner.count === 0);
      expect(await statuses(job.jobId)).toEqual(["released", "succeeded"]);
    },
  );

  test("LEASE-01 begins nothing that was started with its claim when it hears of the claim after the lease", async () => {
    const job = { ...(await claimed()), started: true };
    runner.take([job], processClock() - 3_600_000);
    await waitFor(() => runner.count === 0);
    expect(underWay).toEqual([]);
    expect(await spentOn(job.jobId)).toEqual(unspent);
  });

  describe("with more jobs than places", () => {
    let jobs: ClaimedJob[];
    beforeEach(async () => {
      runner = runnerOn(make.worker, 1);
      jobs = [await claimed(), await claimed()];
      runner.take(jobs, processClock());
      await waitFor(() => underWay.length === 1);
    });

    test("runs the next when a place is free, and has no room before", async () => {
      expect([runner.count, runner.running, runner.room()]).toEqual([2, 1, { free: 0, ahead: 0 }]);
      underWay[0]?.end();
      await waitFor(() => underWay.length === 2);
      underWay[1]?.end();
      await waitFor(() => runner.count === 0);
      for (const { jobId } of jobs) expect(await statusOf(jobId)).toBe("succeeded");
    });

    test("ends one that is canceled while it waits, without running it", async () => {
      const [, waiting] = jobs;
      await cancelJob(make.web, scope, waiting?.jobId ?? "");
      runner.cancel([waiting?.jobId ?? ""]);
      await waitFor(() => runner.count === 1);
      expect([await statusOf(waiting?.jobId ?? ""), underWay.length]).toEqual(["canceled", 1]);
      underWay[0]?.end();
      await waitFor(() => runner.count === 0);
    });

    test("LEASE-10 gives back what waits as soon as it drains", async () => {
      const draining = runner.drain(60_000, noNotice);
      await waitFor(async () => (await statusOf(jobs[1]?.jobId ?? "")) === "queued");
      expect(await statuses(jobs[1]?.jobId ?? "")).toEqual(["released"]);
      underWay[0]?.end();
      await draining;
      expect(underWay).toHaveLength(1);
    });

    test("gives back what has waited too long, unspent and not started", async () => {
      await waitFor(() => runner.count === 1);
      const job = await getJob(make.web, scope, jobs[1]?.jobId ?? "");
      expect([job?.status, job?.attemptCount, job?.startedAt]).toEqual(["queued", 0, null]);
      underWay[0]?.end();
      await waitFor(() => runner.count === 0);
      expect(underWay).toHaveLength(1);
    });

    test("gives back one whose lease it could not keep while it waits, unspent and not started", async () => {
      const { jobId = "", leaseNo = 0 } = jobs[1] ?? {};
      tell.get(leaseNo)?.("lost");
      await waitFor(() => runner.count === 1);
      expect(await spentOn(jobId)).toEqual(unspent);
      expect((await getJob(make.web, scope, jobId))?.startedAt).toBeNull();
      underWay[0]?.end();
      await waitFor(() => runner.count === 0);
      expect(underWay).toHaveLength(1);
    });
  });

  test("leaves a job to its lease when it fails to start for a reason that would come back", async () => {
    const job = await claimed();
    runner = runnerOn(failingOnce(make.worker, new DatabaseError({ kind: "forbidden" }), { stored: false }));
    runner.take([job], processClock());
    await waitFor(() => runner.count === 0);
    expect([await statusOf(job.jobId), underWay]).toEqual(["running", []]);
    await settleAttempts(make.worker, [{ ...job, status: "released", retryInSeconds: 3600, spent: false }]);
  });

  test("PAYLOAD-15 runs a job under the version it was accepted with, and fails a payload that does not fit for good", async () => {
    const waiting = await make.job(scope, { definitionKey: key, payload: { n: 1 } });
    const spoilt = await make.job(scope, { definitionKey: key, payload: { n: 2 } });
    await database.query('update app.jobs set payload = \'{"n": "two"}\' where id = $1', [spoilt.id]);
    await updateDefinition(make.platform, scope.actor, {
      id: definitionId,
      patch: { argSchema: { type: "object", required: ["more"], properties: { more: { type: "string" } } } },
    });
    runner.take(await make.claim("the-runner"), processClock());
    await waitFor(() => underWay.length === 1);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(await statusOf(waiting.id)).toBe("succeeded");
    const failed = await getJob(make.web, scope, spoilt.id);
    expect([failed?.status, failed?.errorType, failed?.attemptCount]).toEqual(["dead_letter", "validation", 1]);
    expect(failed?.lastError).toContain("/n");
  });
});
