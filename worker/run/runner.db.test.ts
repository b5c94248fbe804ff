import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { DatabaseError } from "@/lib/db";
import {
  cancelJob,
  expireJobs,
  getJob,
  rescueExpiredLeases,
  settleAttempts,
  updateDefinition,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { failingOnce } from "../failing-once.fixture";
import { processClock } from "../lease/lease-protocol";
import type { JobRunner } from "./runner";
import { noNotice, runnerStage, UNSPENT } from "./runner.fixture";

const database = await testDatabase();
const stage = await runnerStage(database);
const { make, scope, definition, underWay, leaseEvents, runnerOn, claimed, claimAgain, statuses, statusOf, spentOn } =
  stage;
afterAll(stage.close);
let runner: JobRunner;
beforeEach(() => {
  stage.reset();
  runner = runnerOn();
});

describe("a runner", () => {
  test("LEASE-01 counts a job correctly that it claims again before it notices its first lost lease", async () => {
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

  test("LEASE-01 drops an attempt at once when its lease is lost, and records nothing of it", async () => {
    const job = await claimed();
    runner.take([job], processClock());
    await waitFor(() => underWay.length === 1);
    leaseEvents.get(job.leaseNo)?.("lost");
    await waitFor(() => runner.count === 0);
    underWay[0]?.end();
    expect([underWay[0]?.stopped(), await statusOf(job.jobId), await statuses(job.jobId)]).toEqual([
      true,
      "running",
      ["running"],
    ]);
  });

  test("informs an attempt that its job was canceled", async () => {
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

  test("LEASE-10 that drains releases unspent what does not end in time and what still arrives", async () => {
    const [long, late] = [await claimed(), await claimed()];
    runner.take([long], processClock());
    await waitFor(() => underWay.length === 1);
    const draining = runner.drain(50, noNotice);
    runner.take([late], processClock());
    await waitFor(() => underWay[0]?.stopped());
    underWay[0]?.end();
    await draining;
    for (const { jobId } of [long, late]) expect(await spentOn(jobId)).toEqual(UNSPENT);
    expect(underWay).toHaveLength(1);
  });

  test.each([{ stored: false }, { stored: true }])(
    "LEASE-31 releases a job unspent when the database fails at its begin (stored: $stored)",
    async ({ stored }) => {
      const job = await claimed();
      const error = new DatabaseError({ kind: "unavailable", connectionLost: true });
      runner = runnerOn(failingOnce(make.worker, error, { stored }));
      runner.take([job], processClock());
      await waitFor(() => runner.count === 0);
      expect(await spentOn(job.jobId)).toEqual(UNSPENT);
      expect(underWay).toEqual([]);
      runner.take([await claimAgain(job.jobId)], processClock());
      await waitFor(() => underWay.length === 1);
      underWay[0]?.end();
      await waitFor(() => runner.count === 0);
      expect(await statuses(job.jobId)).toEqual(["released", "succeeded"]);
    },
  );

  test("LEASE-01 does not begin a job started by its claim when the claim's answer arrives after the lease", async () => {
    const job = { ...(await claimed()), hasBegun: true };
    runner.take([job], processClock() - 3_600_000);
    await waitFor(() => runner.count === 0);
    expect(underWay).toEqual([]);
    expect(await spentOn(job.jobId)).toEqual(UNSPENT);
  });

  test.each([true, false])(
    "begins no job whose expires_at passed after its claim (started with it: %s)",
    async (hasBegun) => {
      const { id } = await make.job(scope, {
        definitionKey: definition.key,
        expiresAt: new Date(Date.now() + 3_600_000),
      });
      const claim = await claimAgain(id);
      expect(claim.expiresInMs).toBeGreaterThan(3_000_000);
      await database.query("update app.live_jobs set expires_at = app.clock() where job_id = $1", [id]);
      runner.take([{ ...claim, hasBegun, expiresInMs: 1 }], processClock() - 1);
      await waitFor(() => runner.count === 0);
      expect([underWay, await spentOn(id)]).toEqual([[], UNSPENT]);
      expect(await make.claim("the-runner")).toEqual([]);
      expect((await expireJobs(make.scheduler, { limit: 10 })).count).toBe(1);
      expect(await getJob(make.web, scope, id)).toMatchObject({
        status: "expired",
        attempt_count: 0,
        started_at: null,
      });
    },
  );

  test("begins a job whose expires_at may have passed after a check by the database", async () => {
    const { id } = await make.job(scope, {
      definitionKey: definition.key,
      expiresAt: new Date(Date.now() + 3_600_000),
    });
    runner.take([{ ...(await claimAgain(id)), expiresInMs: 1 }], processClock() - 1);
    await waitFor(() => underWay.length === 1);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(await statusOf(id)).toBe("succeeded");
  });

  test("leaves a job to its lease when it cannot begin for a permanent reason", async () => {
    const job = await claimed();
    runner = runnerOn(failingOnce(make.worker, new DatabaseError({ kind: "forbidden" }), { stored: false }));
    runner.take([job], processClock());
    await waitFor(() => runner.count === 0);
    expect([await statusOf(job.jobId), underWay]).toEqual(["running", []]);
    await settleAttempts(make.worker, [{ ...job, status: "released", retryInSeconds: 3600, spent: false }]);
  });

  test("PAYLOAD-15 runs a job with the version it was accepted with, and fails one with an invalid payload permanently", async () => {
    const waiting = await make.job(scope, { definitionKey: definition.key, payload: { n: 1 } });
    const spoilt = await make.job(scope, { definitionKey: definition.key, payload: { n: 2 } });
    await database.query('update app.jobs set payload = \'{"n": "two"}\' where id = $1', [spoilt.id]);
    await updateDefinition(make.platform, scope.actor, {
      id: definition.id,
      patch: { arg_schema: { type: "object", required: ["more"], properties: { more: { type: "string" } } } },
    });
    runner.take(await make.claim("the-runner"), processClock());
    await waitFor(() => underWay.length === 1);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(await statusOf(waiting.id)).toBe("succeeded");
    const failed = await getJob(make.web, scope, spoilt.id);
    expect([failed?.status, failed?.error_type, failed?.attempt_count]).toEqual(["dead_letter", "validation", 1]);
    expect(failed?.last_error).toContain("/n");
  });
});
