import { afterAll, expect, test } from "vitest";
import { type TenantTransaction, withTenant } from "@/lib/db";
import { cancelJob, enqueueJob, rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";
import { finishPlainSql } from "./settle-attempts.sql";

const database = await testDatabase();
const { make, scope, definitionKey, statusOf } = await makeLinkedJobs(database);
afterAll(() => make.close());

/** The statement with a lock_timeout long enough for a test. */
const patient = { name: "patient_finish", text: finishPlainSql.text.replace("'50'", "'60000'"), repeatable: false };

const someoneWaits = async () =>
  (
    await database.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
  ).length > 0;

/** Changes a job while its end waits for the row, and returns what the end then took. */
async function changedMeanwhile(change: (jobId: string, tx: TenantTransaction) => Promise<unknown>) {
  const job = await make.runningJob(scope);
  const values = [[job.jobId], [job.leaseNo], ["null"], [null]];
  let ending: Promise<{ done: string[] | null }[]> | undefined;
  await withTenant(make.web, scope.tenantId, async (tx) => {
    await change(job.jobId, tx);
    ending = make.worker.run<{ done: string[] | null }>(patient, values);
    await waitFor(someoneWaits);
  });
  return { jobId: job.jobId, done: (await ending)?.[0]?.done };
}

test("the end without a lock leaves a job running that another job starts to depend on at the same time", async () => {
  let child = "";
  const { jobId, done } = await changedMeanwhile(async (parent, tx) => {
    child = (await enqueueJob(tx, scope, { definitionKey, dependsOn: [{ jobId: parent }] })).jobId;
  });
  expect([done, await statusOf(jobId), await statusOf(child)]).toEqual([[], "running", "blocked"]);
});

test("the end without a lock leaves a job running that is canceled at the same time", async () => {
  const { jobId, done } = await changedMeanwhile((id, tx) =>
    tx.run(
      {
        name: "ask_cancel",
        text: "update app.live_jobs set cancel_requested_at = app.now() where job_id = $1",
        repeatable: false,
      },
      [id],
    ),
  );
  expect([done, await statusOf(jobId)]).toEqual([[], "running"]);
  await cancelJob(make.web, scope, jobId);
});

test("the end without a lock leaves a job alone whose lease is rescued at the same time", async () => {
  const job = await make.runningJob(scope);
  await database.query("update app.live_jobs set lease_expires_at = app.now() - interval '1 s' where job_id = $1", [
    job.jobId,
  ]);
  let ending: Promise<{ done: string[] | null }[]> | undefined;
  await make.scheduler.transaction(async (tx) => {
    expect(await rescueExpiredLeases(tx, { limit: 10, random: () => 0 })).toMatchObject({ rescued: 1 });
    ending = make.worker.run<{ done: string[] | null }>(patient, [[job.jobId], [job.leaseNo], ["null"], [null]]);
    await waitFor(someoneWaits);
  });
  expect((await ending)?.[0]?.done).toEqual([]);
  expect(await statusOf(job.jobId)).toBe("queued");
});
