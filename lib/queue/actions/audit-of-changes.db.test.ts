import { afterAll, expect, test } from "vitest";
import {
  cancelJob,
  changeJob,
  enqueueJob,
  getJob,
  pauseJob,
  settleAttempts,
  triageDeadLetter,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { dead } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const actionsOf = async (jobId: string) =>
  (
    await database.query<{ action: string }>("select action from app.job_audit where job_id = $1 order by id", [jobId])
  ).map((row) => row.action);

test("a repeated cancel returns the same answer and is audited once", async () => {
  const own = await make.tenant();
  const { jobId } = await make.runningJob(own);
  const first = await cancelJob(make.web, own, jobId);
  for (let n = 0; n < 3; n += 1) expect(await cancelJob(make.web, own, jobId)).toEqual(first);
  expect(await actionsOf(jobId)).toEqual(["cancel"]);
});

test("a change to the job's current priority and time succeeds and is not audited", async () => {
  const own = await make.tenant();
  const scheduledFor = new Date(Date.now() + 3_600_123);
  const { id: jobId, priority } = await make.job(own, { scheduledFor });
  const { id: plain, scheduled_for: due } = await make.job(own);
  for (const change of [{ priority }, { scheduledFor }, { priority, scheduledFor }])
    expect(await changeJob(make.web, own, { jobId, ...change })).toMatchObject({ priority, scheduled_for: scheduledFor });
  await changeJob(make.web, own, { jobId: plain, scheduled_for: due });
  expect([await actionsOf(jobId), await actionsOf(plain)]).toEqual([[], []]);

  await pauseJob(make.web, own, jobId);
  await changeJob(make.web, own, { jobId, priority, scheduled_for: new Date(scheduledFor.getTime() + 1).toISOString() });
  await changeJob(make.web, own, { jobId, priority: priority + 1 });
  expect(await actionsOf(jobId)).toEqual(["pause", "change", "change"]);
  expect(await getJob(make.web, own, jobId)).toMatchObject({ priority: priority + 1, status: "paused" });
});

test("a dead letter's triage is audited only when its status or note changes", async () => {
  const own = await make.tenant();
  const claimed = await make.runningJob(own);
  await settleAttempts(make.worker, [dead(claimed)]);
  const { jobId } = claimed;
  await triageDeadLetter(make.web, own, { jobId, status: "investigating", note: "asked the bank" });
  for (const change of [{ status: "investigating" }, { note: "asked the bank" }] as const) {
    expect(await triageDeadLetter(make.web, own, { jobId, ...change })).toMatchObject({ note: "asked the bank" });
  }
  expect(await actionsOf(jobId)).toEqual(["triage"]);
  await triageDeadLetter(make.web, own, { jobId, note: "" });
  expect(await actionsOf(jobId)).toEqual(["triage", "triage"]);
});

test.each([
  ["replace_payload", { payload: { n: 1 } }, { payload: { n: 2 } }, "replaced"],
  [
    "reschedule",
    { scheduledFor: new Date(Date.now() + 3_600_000) },
    { scheduledFor: new Date(Date.now() + 7_200_000) },
    "rescheduled",
  ],
] as const)(
  "a duplicate that asks to %s is audited only when it changes the job",
  async (onConflict, same, other, conflict) => {
    const own = await make.tenant();
    const { key: definitionKey } = await make.definition();
    const scheduledFor = new Date(Date.now() + 10_000_000);
    const ask = (change: object) =>
      enqueueJob(make.web, own, {
        definitionKey,
        dedupeKey: "k",
        dedupe: { mode: "live", onConflict },
        scheduledFor,
        ...change,
      });
    const { jobId } = await ask(same);
    for (let n = 0; n < 2; n += 1) expect(await ask(same)).toMatchObject({ jobId, conflict });
    const audited = async () => (await actionsOf(jobId)).filter((action) => action.startsWith("dedupe_"));
    expect(await audited()).toEqual([]);
    await ask(other);
    expect(await audited()).toEqual([`dedupe_${conflict}`]);
  },
);
