import { afterAll, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { enqueueJob, getJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { shareOfLongestTurn } from "@/lib/testing/measure/longest-turn";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Settler } from "./settler";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key: definitionKey } = await make.definition();
afterAll(() => make.close());

test("the end of a locked job waits alone, without its batch and later batches", async () => {
  const settler = new Settler(
    make.worker,
    createLogger({ process: "worker", level: "silent", format: "json" }),
    () => 0.5,
  );
  const [held, beside, later] = [
    await make.runningJob(scope),
    await make.runningJob(scope),
    await make.runningJob(scope),
  ];
  const settle = (job: typeof held) => settler.add(succeeded(job), job.laneNo);
  const answer = await withTenant(make.web, scope.tenantId, async (tx) => {
    await enqueueJob(tx, scope, { definitionKey, dependsOn: [{ jobId: held.jobId }] });
    const waiting = settle(held);
    expect(await settle(beside)).toBe("settled");
    expect(await settle(later)).toBe("settled");
    expect((await getJob(make.web, scope, held.jobId))?.status).toBe("running");
    return { waiting };
  });
  expect(await answer.waiting).toBe("settled");
});

test("concurrent ends with long tails and results are stored in several turns of the event loop", async () => {
  const settler = new Settler(
    make.worker,
    createLogger({ process: "worker", level: "silent", format: "json" }),
    () => 0.5,
  );
  const jobs: Awaited<ReturnType<typeof make.runningJob>>[] = [];
  for (let n = 0; n < 24; n += 1) jobs.push(await make.runningJob(scope));
  const output = {
    pid: 1,
    stdoutTail: "\u001b[31mé\n".repeat(24_000),
    stderrTail: "\u0007\u001b".repeat(90_000),
    stdoutBytes: 1,
    stderrBytes: 1,
    droppedBytes: 0,
  };
  const result = Object.fromEntries(Array.from({ length: 9900 }, (_, n) => [`key${n}abcdefg`, n]));
  const settleEight = async () => {
    const ends = jobs.splice(0, 8).map((job) => settler.add({ ...succeeded(job, result), output }, job.laneNo));
    expect(new Set(await Promise.all(ends))).toEqual(new Set(["settled"]));
  };
  expect(await shareOfLongestTurn(settleEight, 0.5)).toBeLessThan(0.5);
});
