import { setImmediate } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type ClaimedJob, cancelJob, getJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { processClock } from "../lease/lease-protocol";
import type { JobRunner } from "./runner";
import { noNotice, runnerStage, UNSPENT } from "./runner.fixture";

const stage = await runnerStage(await testDatabase());
const { make, scope, underWay, leaseEvents, runnerOn, claimed, statuses, statusOf, spentOn } = stage;
afterAll(stage.close);

test("a runner with stuck slots claims ahead once, not again each second after giving those jobs back", async () => {
  stage.reset();
  const runner = runnerOn(make.worker, 1);
  while (!runner.isQuick(stage.definition.id)) {
    const before = underWay.length;
    runner.take([await claimed()], processClock());
    while (underWay.length === before) await setImmediate();
    underWay.at(-1)?.end();
    await waitFor(() => runner.count === 0);
  }
  runner.take([await claimed(), await claimed()], processClock());
  expect(runner.capacity().ahead).toBeGreaterThan(0);
  await waitFor(() => runner.count === 1);
  expect(runner.capacity()).toEqual({ free: 0, ahead: 0 });
  underWay.at(-1)?.end();
  await waitFor(() => runner.count === 0);
  expect(runner.capacity().free).toBe(1);
});

describe("a runner with more jobs than slots", () => {
  let jobs: ClaimedJob[];
  let runner: JobRunner;
  beforeEach(async () => {
    stage.reset();
    runner = runnerOn(make.worker, 1);
    jobs = [await claimed(), await claimed()];
    runner.take(jobs, processClock());
    await waitFor(() => underWay.length === 1);
  });

  test("runs the next job when a slot is free, and has no capacity before", async () => {
    expect([runner.count, runner.running, runner.capacity()]).toEqual([2, 1, { free: 0, ahead: 0 }]);
    underWay[0]?.end();
    await waitFor(() => underWay.length === 2);
    underWay[1]?.end();
    await waitFor(() => runner.count === 0);
    for (const { jobId } of jobs) expect(await statusOf(jobId)).toBe("succeeded");
  });

  test("ends a job that is canceled while it waits, without running it", async () => {
    const [, waiting] = jobs;
    await cancelJob(make.web, scope, waiting?.jobId ?? "");
    runner.cancel([waiting?.jobId ?? ""]);
    await waitFor(() => runner.count === 1);
    expect([await statusOf(waiting?.jobId ?? ""), underWay.length]).toEqual(["canceled", 1]);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
  });

  test("LEASE-10 gives back waiting jobs as soon as it drains", async () => {
    const draining = runner.drain(60_000, noNotice);
    await waitFor(async () => (await statusOf(jobs[1]?.jobId ?? "")) === "queued");
    expect(await statuses(jobs[1]?.jobId ?? "")).toEqual(["released"]);
    underWay[0]?.end();
    await draining;
    expect(underWay).toHaveLength(1);
  });

  test("gives back jobs that waited too long, unspent and not begun", async () => {
    await waitFor(() => runner.count === 1);
    const job = await getJob(make.web, scope, jobs[1]?.jobId ?? "");
    expect([job?.status, job?.attempt_count, job?.started_at]).toEqual(["queued", 0, null]);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(underWay).toHaveLength(1);
  });

  test("gives back waiting jobs, and those of a claim in flight, when a pause is set", async () => {
    const [late, later] = [await claimed(), await claimed()];
    const [before, after] = [processClock(), processClock() + 60_000];
    runner.giveBackAhead();
    runner.take([late], before - 1);
    await waitFor(() => runner.count === 1);
    for (const jobId of [jobs[1]?.jobId ?? "", late.jobId]) expect(await spentOn(jobId)).toEqual(UNSPENT);
    runner.take([later], after);
    underWay[0]?.end();
    await waitFor(() => underWay.length === 2);
    underWay[1]?.end();
    await waitFor(() => runner.count === 0);
  });

  test("releases a job once that is canceled or lost during its release", async () => {
    const canceled = await claimed();
    const lost = await claimed();
    runner.take([canceled, lost], processClock());
    await cancelJob(make.web, scope, canceled.jobId);
    runner.giveBackAhead();
    runner.cancel([canceled.jobId]);
    leaseEvents.get(lost.leaseNo)?.("lost");
    await waitFor(() => runner.count === 1);
    expect([await statusOf(canceled.jobId), await spentOn(lost.jobId)]).toEqual(["canceled", UNSPENT]);
    expect(runner.running).toBe(1);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect([runner.running, underWay.length]).toEqual([0, 1]);
  });

  test("releases a job at a pause that began with its claim and found no slot", async () => {
    const job = { ...(await claimed()), hasBegun: true };
    runner.take([job], processClock());
    runner.giveBackAhead();
    await waitFor(() => runner.count === 1);
    expect(await spentOn(job.jobId)).toEqual(UNSPENT);
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
  });

  test("releases a waiting job whose lease could not be kept, unspent and not begun", async () => {
    const { jobId = "", leaseNo = 0 } = jobs[1] ?? {};
    leaseEvents.get(leaseNo)?.("lost");
    await waitFor(() => runner.count === 1);
    expect(await spentOn(jobId)).toEqual(UNSPENT);
    expect((await getJob(make.web, scope, jobId))?.started_at).toBeNull();
    underWay[0]?.end();
    await waitFor(() => runner.count === 0);
    expect(underWay).toHaveLength(1);
  });
});
