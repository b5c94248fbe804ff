import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { retryJob } from "../actions/retry-job";
import { settleAttempts } from "../attempts/settle-attempts";
import { rescueExpiredLeases } from "../leases/rescue-expired-leases";
import { listSteps } from "./list-steps";
import { findStep, STEP_RESULT_MAX_BYTES, storeStep } from "./steps";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
afterAll(() => make.close());

const end = { status: "failed", spent: true, errorType: "unknown", errorText: "no" } as const;

test("G-03 a step is stored once per run: later attempts find it, the next run does not", async () => {
  const first = await make.runningJob(scope, { maxAttempts: 2 });
  await storeStep(make.worker, first, { name: "a", result: { n: 1 } });
  await storeStep(make.worker, first, { name: "a", result: { n: 2 } });
  await storeStep(make.worker, first, { name: "null", result: null });
  await settleAttempts(make.worker, [{ ...first, ...end, retryInSeconds: 0 }]);
  const [second] = (await make.claim("w")).filter(({ jobId }) => jobId === first.jobId);
  expect(second && (await findStep(make.worker, second, "a"))).toEqual({ result: { n: 1 } });
  expect(second && (await findStep(make.worker, second, "null"))).toEqual({ result: null });
  await settleAttempts(make.worker, [{ ...first, leaseNo: 2, ...end, outcome: "dead_letter" }]);
  await retryJob(make.web, scope, { jobId: first.jobId });
  const [again] = (await make.claim("w")).filter(({ jobId }) => jobId === first.jobId);
  expect(again?.runNo).toBe(2);
  expect(again && (await findStep(make.worker, again, "a"))).toBeNull();
  expect(
    (await listSteps(make.web, scope, first.jobId))?.steps.map(({ name, run_no: runNo, attempt_no: attemptNo }) => [
      name,
      runNo,
      attemptNo,
    ]),
  ).toEqual([
    ["a", 1, 1],
    ["null", 1, 1],
  ]);
});

test("LEASE-01 an attempt that lost its lease stores no step", async () => {
  const late = await make.runningJob(scope);
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    late.jobId,
  ]);
  await rescueExpiredLeases(make.worker, { limit: 10, random: () => 0 });
  await expect(storeStep(make.worker, late, { name: "a", result: 1 })).rejects.toMatchObject({
    name: "LeaseLostError",
  });
  expect(await listSteps(make.web, scope, late.jobId)).toEqual({ steps: [], hasMore: false });
});

test("PAYLOAD-01 PAYLOAD-10 a result that cannot be stored exactly is refused with the reason", async () => {
  const job = await make.runningJob(scope);
  const fits = "x".repeat(STEP_RESULT_MAX_BYTES - 2);
  await storeStep(make.worker, job, { name: "fits", result: fits });
  const tooLarge = storeStep(make.worker, job, { name: "large", result: `${fits}x` });
  await expect(tooLarge).rejects.toMatchObject({ code: "payload-too-large" });
  await expect(storeStep(make.worker, job, { name: "nul", result: { a: "\0" } })).rejects.toMatchObject({
    code: "payload-invalid",
    problems: [{ pointer: "/a" }],
  });
  await expect(storeStep(make.worker, job, { name: "\0", result: 1 })).rejects.toMatchObject({
    code: "payload-invalid",
  });
  const [shown] = (await listSteps(make.web, scope, job.jobId))?.steps ?? [];
  expect(shown).toMatchObject({ name: "fits", result: null, isShown: false, result_bytes: STEP_RESULT_MAX_BYTES });
});

test("RLS-9 another tenant sees neither the steps nor the job", async () => {
  const job = await make.runningJob(scope);
  await storeStep(make.worker, job, { name: "a", result: 1 });
  expect(await listSteps(make.web, await make.tenant(), job.jobId)).toBeNull();
});
