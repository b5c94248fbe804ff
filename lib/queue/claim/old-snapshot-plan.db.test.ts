import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { pollFreshSql, pollWorkSql } from "../lanes/poll-work.sql";
import { expiredLeasesSql, expiredOfTheseSql } from "../leases/rescue-expired-leases.sql";
import { remoteLanesPartlySql, remoteLanesSql } from "../remote/remote-work.sql";
import { expireWaitingSql, promoteDueSql } from "../upkeep/promote-due-jobs.sql";
import { claimJobsSql, reserveSlotsSql } from "./claim-jobs.sql";
import { recordRunningJobs } from "./record-running-jobs";

/** Number of jobs that ran since the old snapshot. */
const RAN = 30_000;

const database = await testDatabase();
const make = makeFactory(database);
const worker = new pg.Client({ connectionString: database.urlFor("worker") });
const holder = new pg.Client({ connectionString: database.adminUrl });
let laneNo: number;

/** Inserts `count` ready jobs into the lane in one batch, as an enqueue would, with ids made `secondsAgo`. */
const addJobs = (count: number, secondsAgo: number) =>
  database.query(
    `with made as materialized (
       select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000 - $3)::bigint), 12, '0') || '7'
         || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid as id, l.*
       from app.lanes l, generate_series(1, $2::int) where l.lane_no = $1),
     record as (
       insert into app.jobs (id, tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select id, tenant_id, definition_id, 1, lane_no, 'manual', app.now(), 3 from made)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(clock_timestamp() - make_interval(secs => $3 / 1000.0), 100),
       100, app.now() from made`,
    [laneNo, count, secondsAgo * 1000],
  );

/** Makes all jobs due and expired, then promotes, claims and ends them. */
const runAll = () =>
  database.query(
    `update app.live_jobs set ready = false, scheduled_for = app.now() - interval '1 minute', expires_at = app.now() - interval '1 minute';
     update app.live_jobs set ready = true;
     with claimed as (update app.live_jobs set state = 'running', ready = false, claimed_by_worker = 'w', claimed_at = app.now(),
       lease_no = 1, lease_expires_at = app.now() + interval '1 minute' returning job_id) select count(*) from claimed;
     delete from app.live_jobs`,
  );

/**
 * Counts the pages that one execution as the worker role touches; it is rolled back. Takes the lesser of two runs,
 * because a run after an autovacuum or ANALYZE also reads the catalogs to plan the functions in the statement.
 */
async function pagesOf(text: string, values: readonly string[], params: string): Promise<number> {
  return Math.min(await executed(text, values, params), await executed(text, values, params));
}
async function executed(text: string, values: readonly string[], params: string): Promise<number> {
  await worker.query(`begin; prepare looked ${params} as ${text}`);
  const { rows } = await worker.query<{ "QUERY PLAN": string }>(
    `explain (analyze, buffers, costs off, timing off) execute looked (${values.join(", ")})`,
  );
  await worker.query("rollback; deallocate looked");
  const line = rows.map((row) => row["QUERY PLAN"]).find((one) => /^ *Buffers:/.test(one)) ?? "";
  return [...line.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
}
const wholePoll = () => pagesOf(pollWorkSql.text, ["'w'", "0", "256"], "(text, int, int)");
const freshPoll = () => pagesOf(pollFreshSql.text, ["'w'", "3", "256"], "(text, int, int)");
const claimFrom = (low: number | string) =>
  pagesOf(
    claimJobsSql.text,
    [`'{${laneNo}}'`, "'{10}'", "10", "'w'", "'{30}'", `'{${low}}'`, "5", "1"],
    "(int[], int[], int, text, int[], float8[], int, bigint)",
  );

beforeAll(async () => {
  await Promise.all([worker.connect(), holder.connect()]);
  const scope = await make.tenant();
  await make.definition({ key: "far", executor: "remote" });
  await make.job(scope, { definitionKey: "far" });
  const rows = await database.query<{ lane_no: number }>("select lane_no from app.live_jobs");
  laneNo = rows[0]?.lane_no ?? 0;
  await database.query("delete from app.live_jobs");
});
afterAll(async () => {
  await Promise.all([worker.end(), holder.end()]);
  await make.close();
});

test("while an old snapshot keeps the index entries of 30,000 jobs, polls for new jobs and claims from the head skip them", async () => {
  await addJobs(1, 0);
  const before = { fresh: await freshPoll(), claim: await claimFrom("-Infinity") };
  await database.query("delete from app.live_jobs");
  await addJobs(RAN, 60);
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from app.tenants");
  await runAll();
  await addJobs(1, 0);
  const [head] = await database.query<{ key: number }>("select min(sort_key) as key from app.live_jobs where ready");
  // The index is as large as the jobs that ran, so its height may have grown.
  expect(await freshPoll()).toBeLessThan(before.fresh + 60);
  expect(await claimFrom((head?.key ?? 0) - 5 / 600)).toBeLessThan(before.claim + 60);
  // The cost that these two avoid.
  expect(await wholePoll()).toBeGreaterThan(500);
  expect(await claimFrom("-Infinity")).toBeGreaterThan(500);
  const cancels = "select job_id from app.live_jobs where claimed_by_worker = $1 and cancel_requested_at is not null";
  expect(await pagesOf(cancels, ["'w'"], "(text)")).toBeLessThan(20);

  // The sweeps from where they ended last, and the cost that each avoids.
  const recently = "app.now() - interval '5 s'";
  const dueFrom = (from: string) => pagesOf(promoteDueSql.text, ["1000", from], "(int, timestamptz)");
  const expiredFrom = (from: string) => pagesOf(expireWaitingSql.text, ["1000", from], "(int, timestamptz)");
  const some = `'{${Array.from({ length: 10 }, () => randomUUID())}}'`;
  const pages = {
    due: [await dueFrom(recently), await dueFrom("'-infinity'")],
    expired: [await expiredFrom(recently), await expiredFrom("'-infinity'")],
    leases: [
      await pagesOf(expiredOfTheseSql.text, ["1000", some], "(int, uuid[])"),
      await pagesOf(expiredLeasesSql.text, ["1000"], "(int)"),
    ],
    remote: [
      await pagesOf(
        remoteLanesPartlySql.text,
        ["'{far}'", "null", "null", "256", `'{${laneNo}}'`, `'{${(head?.key ?? 0) - 5 / 600}}'`, "3"],
        "(text[], text[], uuid, int, int[], float8[], int)",
      ),
      await pagesOf(remoteLanesSql.text, ["'{far}'", "null", "null", "256"], "(text[], text[], uuid, int)"),
    ],
  };
  for (const [look, [partly = 0, whole = 0]] of Object.entries(pages))
    expect([look, partly < 200, whole > 500]).toEqual([look, true, true]);
}, 60_000);

test("a count under a limit skips them once running jobs are marked", async () => {
  await database.query(
    `insert into app.concurrency_limits (scope, queue_id, max_running) select 'queue', queue_id, 5 from app.lanes where lane_no = $1`,
    [laneNo],
  );
  const count = () =>
    pagesOf(reserveSlotsSql.text, [`'{${laneNo}}'`, "'{10}'", "10", "'{Infinity}'"], "(int[], int[], int, float8[])");
  const before = await count();
  await database.moveClock(20_000);
  await recordRunningJobs(make.scheduler);
  expect([before > 500, (await count()) < 200]).toEqual([true, true]);
  await database.moveClock(0);
});
