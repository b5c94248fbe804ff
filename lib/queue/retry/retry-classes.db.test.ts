import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { decideEnd } from "../attempts/attempt-end.policy";
import { decideAttemptEnd } from "../attempts/decide-attempt-end";
import { settleAttempts } from "../attempts/settle-attempts";
import type { ClaimedJob } from "../attempts/types";
import { updateDefinition } from "../definitions/definitions";
import { loadDefinitionVersion } from "../definitions/read-definitions";
import { rescueExpiredLeases } from "../leases/rescue-expired-leases";
import { createQueue } from "../queues/queues";
import type { NewJob, RetryClasses } from "../types";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const SYSTEM = { kind: "system", id: null, userId: null } as const;
afterAll(() => make.close());

const fails = async (job: ClaimedJob, errorType: string) => {
  const definition = await loadDefinitionVersion(make.worker, job.definitionId, job.definitionVersion);
  const execution = { kind: "failed", errorType, message: "no" } as const;
  const end = decideEnd({ claimed: job, definition, execution }, () => 0.5);
  await settleAttempts(make.worker, [end]);
  return end;
};

test("A-07 a definition's class policies are versioned, and a job follows the version it was accepted with", async () => {
  const retryClasses: RetryClasses = { not_found: { retryable: true, delay_seconds: 77, max_attempts: 2 } };
  const made = await make.definition({ retry: { jitter: 0 }, retry_classes: retryClasses });
  expect([made.retry_classes, made.retry]).toEqual([
    retryClasses,
    { strategy: null, delay_seconds: null, multiplier: null, max_delay_seconds: null, jitter: 0 },
  ]);
  const old = await make.runningJob(scope, { definitionKey: made.key });
  const change = { id: made.id, patch: { retryClasses: {}, retry: { jitter: null, delaySeconds: 3 } } };
  const changed = await updateDefinition(make.platform, SYSTEM, change);
  expect([changed.retry_classes, changed.retry.delay_seconds, changed.retry.jitter]).toEqual([{}, 3, null]);
  const fresh = await make.runningJob(scope, { definitionKey: made.key });
  expect(await fails(old, "not_found")).toMatchObject({ retryInSeconds: 77 });
  expect(await fails(fresh, "not_found")).toMatchObject({ outcome: "dead_letter" });
});

test("A-07 a claim returns how often the run timed out, and a new run starts at zero", async () => {
  const { key } = await make.definition();
  let job = await make.runningJob(scope, { definitionKey: key, maxAttempts: 5 });
  const { jobId, tenantId } = job;
  const seen: number[] = [];
  for (const status of ["timeout", "failed", "timeout"] as const) {
    seen.push(job.timeouts);
    const end = { jobId, tenantId, leaseNo: job.leaseNo, status, retryInSeconds: 0, spent: true };
    expect((await settleAttempts(make.worker, [end])).settled).toEqual([jobId]);
    job = (await make.claim("w")).find((one) => one.jobId === jobId) ?? job;
  }
  expect([...seen, job.timeouts]).toEqual([0, 1, 1, 2]);
});

test.each([
  [{ retryClasses: { nope: {} } }, "/retry_classes/nope"],
  [{ retryClasses: { worker_lost: { delaySeconds: 1 } } }, "/retry_classes/worker_lost"],
  [{ retryClasses: { unknown: { delaySeconds: -1 } } }, "/retry_classes/unknown/delay_seconds"],
  [{ retryClasses: { unknown: { maxAttempts: 1.5 } } }, "/retry_classes/unknown/max_attempts"],
  [{ retryClasses: { unknown: { timeoutMultiplier: 2 } } }, "/retry_classes/unknown/timeout_multiplier"],
  [{ retry: { multiplier: Number.NaN } }, "/retry/multiplier"],
])("A-07 %j is refused with a pointer", async (input, pointer) => {
  const made = make.definition(input as Parameters<typeof make.definition>[0]);
  await expect(made).rejects.toMatchObject({ code: "invalid-value", problems: [{ pointer }] });
});

test("P-01 A-18 a queue's retry delays apply if neither job nor definition sets one, after a failure and a lost lease", async () => {
  const queue = `slow-${randomUUID().slice(0, 8)}`;
  await createQueue(make.platform, { name: queue, retry_delay_seconds: 500, retry_multiplier: 3 });
  const silent = await make.definition({ queue, retry: { jitter: 0 } });
  const outspoken = await make.definition({ queue, retry: { jitter: 0, delay_seconds: 40 } });
  const after = async (definitionKey: string, job: Partial<NewJob> = {}) => {
    const claimed = await make.runningJob(scope, { definitionKey, ...job });
    const definition = await loadDefinitionVersion(make.worker, claimed.definitionId, claimed.definitionVersion);
    const execution = { kind: "failed", errorType: "unknown", message: "no" } as const;
    const { retryInSeconds } = await decideAttemptEnd(make.worker, { claimed, definition, execution }, () => 0.5);
    return retryInSeconds;
  };
  expect(await after(silent.key)).toBe(500);
  expect(await after(outspoken.key)).toBe(40);
  expect(await after(silent.key, { retryDelaySeconds: 7 })).toBe(7);

  const lost = await make.runningJob(scope, { definitionKey: silent.key });
  await database.query(
    "update app.live_jobs set lease_expires_at = app.now() - interval '1 s', reclaims = 1 where job_id = $1",
    [lost.jobId],
  );
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0.5 });
  const [row] = await database.query<{ wait: number }>(
    "select extract(epoch from scheduled_for - app.now())::float8 as wait from app.live_jobs where job_id = $1",
    [lost.jobId],
  );
  expect(Math.abs((row?.wait ?? 0) - 500)).toBeLessThan(20);
});
