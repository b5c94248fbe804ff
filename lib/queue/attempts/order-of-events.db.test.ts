import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Transaction, withTenant } from "@/lib/db";
import { type AttemptEnd, type ClaimedJob, cancelJob, enqueueJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { claimJobsSql } from "../claim/claim-jobs.sql";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key: definitionKey } = await make.definition();
afterAll(() => make.close());
beforeEach(() => database.query("truncate app.live_jobs"));

const released = (job: ClaimedJob): AttemptEnd => ({ ...job, status: "released", retryInSeconds: 0, spent: false });

/** Runs a step in a transaction that began before `meanwhile` ran and committed. */
async function inOlderTransaction<Result>(
  meanwhile: () => Promise<unknown>,
  step: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return make.worker.transaction(async (tx) => {
    await tx.run({ name: "begin_here", text: "select app.now()", repeatable: true });
    await meanwhile();
    return step(tx);
  });
}

/** Returns every recorded instant of a job as numbers, in the order in which they happened. */
async function instantsOf(jobId: string): Promise<number[]> {
  const rows = await database.query<{ at: string }>(
    `select at::text from (
       select attempt_no * 3 as nth, extract(epoch from claimed_at) as at from app.job_attempts where job_id = $1
       union all select attempt_no * 3 + 1, extract(epoch from started_at) from app.job_attempts where job_id = $1
       union all select attempt_no * 3 + 2, extract(epoch from finished_at) from app.job_attempts where job_id = $1
       union all select lease_no * 3, extract(epoch from claimed_at) from app.live_jobs where job_id = $1
       union all select lease_no * 3 + 1, extract(epoch from attempt_started_at) from app.live_jobs where job_id = $1) i
     where at is not null order by nth`,
    [jobId],
  );
  return rows.map(({ at }) => Number(at));
}

const ascending = (instants: readonly number[]) => [...instants].sort((a, b) => a - b);
const laneOf = async (jobId: string) =>
  (await database.query<{ lane_no: number }>("select lane_no from app.live_jobs where job_id = $1", [jobId]))[0]
    ?.lane_no;
const claim = async (tx: Transaction, laneNo: number | undefined, startAtOnce: number) =>
  (await tx.run<{ job_id: string }>(claimJobsSql, [[laneNo], [1], 1, "w", [30], [-1e9], startAtOnce, 1])).length;

describe("timestamps follow the order of events", () => {
  test.each([0, 1])(
    "a claim whose transaction began before the last lease was released is later than that release (started at once: %i)",
    async (atOnce) => {
      const job = await make.runningJob(scope);
      const laneNo = await laneOf(job.jobId);
      const release = () => settleAttempts(make.worker, [released(job)]);
      expect(await inOlderTransaction(release, (tx) => claim(tx, laneNo, atOnce))).toBe(1);
      const instants = await instantsOf(job.jobId);
      expect(instants.length).toBeGreaterThanOrEqual(3);
      expect(instants).toEqual(ascending(instants));
    },
  );

  test("a claim whose transaction began before the job was enqueued is not earlier than its enqueue", async () => {
    let jobId = "";
    const enqueue = async () => {
      ({ jobId } = await enqueueJob(make.web, scope, { definitionKey }));
    };
    await inOlderTransaction(enqueue, async (tx) => expect(await claim(tx, await laneOf(jobId), 1)).toBe(1));
    const [row] = await database.query(
      `select l.claimed_at >= j.queued_at and l.claimed_at >= l.scheduled_for as in_order
       from app.live_jobs l join app.jobs j on j.id = l.job_id where l.job_id = $1`,
      [jobId],
    );
    expect(row?.in_order).toBe(true);
  });

  test("a cancel whose transaction began before an attempt ended is later than that end", async () => {
    const job = await make.runningJob(scope);
    const retry = () => settleAttempts(make.worker, [released(job)]);
    await withTenant(make.web, scope.tenantId, async (tx) => {
      await retry();
      await cancelJob(tx, scope, job.jobId);
    });
    const instants = await instantsOf(job.jobId);
    expect(instants).toEqual(ascending(instants));
  });
});
