import pg from "pg";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { migrate } from "@/lib/db";
import { createLogger } from "@/lib/observability/log";
import { enqueueJob, getJob, makeDays, partitionProblem, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { LOOPS } from "@/scheduler/loops";
import { runLoops } from "@/scheduler/run-loops";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const PARENTS = ["jobs", "job_attempts", "job_logs"];

const dayNames = async () =>
  (
    await database.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = any ($1::regclass[]) and c.relname not like '%default' order by 1`,
      [PARENTS.map((parent) => `app.${parent}`)],
    )
  ).map(({ name }) => name);
const strays = async () => (await database.query("select app.default_partition_rows()::int as n"))[0]?.n;
const stamp = async (days: number) =>
  (
    await database.query<{ day: string }>(
      "select to_char((clock_timestamp() at time zone 'UTC')::date + $1::int, 'YYYYMMDD') as day",
      [days],
    )
  )[0]?.day ?? "";

/** Simulates ten days without a scheduler: every partition that was created ahead has passed. */
beforeEach(async () => {
  for (const parent of PARENTS) await database.query(`delete from app.${parent}_default`);
  for (const name of await dayNames()) await database.query(`drop table app.${name}`);
});

const log = createLogger({ process: "scheduler", level: "silent", format: "json" });
async function whileLeading(until: () => Promise<boolean>): Promise<void> {
  const leader = { leaderId: "the-leader", term: 7 };
  await database.query("update app.leader set leader_id = $1, term = $2", [leader.leaderId, leader.term]);
  const controller = new AbortController();
  const turn = { db: make.scheduler, web: make.web, leader, log, random: () => 0.5 };
  const running = runLoops(LOOPS, turn, controller.signal);
  await waitFor(until).finally(() => controller.abort());
  await running;
}

describe("missing partitions", () => {
  test("a job enqueued after ten days without a scheduler is kept, and the next leader creates every day and moves it", async () => {
    const scope = await make.tenant();
    const done = await make.runningJob(scope);
    await settleAttempts(make.worker, [succeeded(done)]);
    const { id } = await make.job(scope);
    await database.query(`insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
      values (app.id_floor(clock_timestamp() - interval '5 days'), 1, 0, app.new_id(), 'log', 'of five days ago')`);
    expect(await strays()).toBe(4);
    expect(await partitionProblem(make.scheduler)).toMatch(/missing/);

    await whileLeading(async () => (await partitionProblem(make.scheduler)) === null);

    expect(await strays()).toBe(0);
    const names = await dayNames();
    for (const parent of PARENTS) for (let i = -1; i <= 7; i++) expect(names).toContain(`${parent}_${await stamp(i)}`);
    expect(names).toContain(`job_logs_${await stamp(-5)}`);
    expect(await getJob(make.web, scope, id)).toMatchObject({ id });
    expect(await getJob(make.web, scope, done.jobId)).toMatchObject({ status: "succeeded" });
    await make.job(scope);
    expect(await strays()).toBe(0);
  });

  test("a day that fails is reported and does not stop the others", async () => {
    const name = `jobs_${await stamp(2)}`;
    await database.query(`create table app.${name} (in_the_way int)`);
    onTestFinished(async () => void (await database.query(`drop table if exists app.${name}`)));
    const { made, failed } = await makeDays(make.scheduler);
    expect(failed).toHaveLength(1);
    expect(failed[0]).toContain("already exists");
    expect(made).toBe(26);
    await database.query(`drop table app.${name}`);
    expect(await makeDays(make.scheduler)).toEqual({ made: 1, moved: 0, failed: [] });
  });

  test("migrate creates the days, even without a pending migration", async () => {
    await migrate({ adminUrl: database.adminUrl, secret: database.secret, log: () => {} });
    expect(await partitionProblem(make.scheduler)).toBeNull();
    expect(await dayNames()).toHaveLength(27);
  });

  test("a new day has the same columns, constraints, indexes and policies as the others", async () => {
    await makeDays(make.scheduler);
    const shape = async (name: string) => {
      const [row] = await database.query(
        `select (select array_agg(format('%s %s %s', attname, atttypid::regtype, attnotnull) order by attnum)
                 from pg_attribute where attrelid = c.oid and attnum > 0) as columns,
                (select array_agg(pg_get_constraintdef(oid) order by pg_get_constraintdef(oid)) from pg_constraint
                 where conrelid = c.oid and contype in ('c', 'p', 'u')) as constraints,
                (select count(*)::int from pg_index where indrelid = c.oid) as indexes, relacl is null as no_grants
         from pg_class c where c.oid = $1::regclass`,
        [`app.${name}`],
      );
      return row;
    };
    for (const parent of PARENTS)
      expect(await shape(`${parent}_${await stamp(1)}`)).toEqual(await shape(`${parent}_default`));
  });

  test("a session that reads jobs for long delays the days, and no enqueue by more than a second", async () => {
    const scope = await make.tenant();
    const { key: definitionKey } = await make.definition();
    const reader = new pg.Client({ connectionString: database.adminUrl });
    await reader.connect();
    onTestFinished(() => reader.end());
    await reader.query("begin");
    await reader.query("select count(*) from app.jobs");
    const attempt = makeDays(make.scheduler).catch((error: unknown) => error);
    const startedAt = performance.now();
    await enqueueJob(make.web, scope, { definitionKey });
    expect(performance.now() - startedAt).toBeLessThan(1000);
    expect(await attempt).toMatchObject({ kind: "timeout" });
    await reader.query("rollback");
    expect(await makeDays(make.scheduler)).toMatchObject({ made: 27, failed: [] });
  });
});
