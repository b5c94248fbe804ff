import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { enqueueOrRun, getJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const work = () => {
  let done = 0;
  return { done: () => done, run: async () => ++done };
};

test("F-06 enqueues the job while the database answers, and does not run the work itself", async () => {
  const scope = await make.tenant();
  const { key } = await make.definition();
  const { run, done } = work();
  const answer = await enqueueOrRun(make.web, scope, { job: { definitionKey: key }, run, waitMs: 20_000 });
  expect(answer.ran ? null : await getJob(make.web, scope, answer.enqueued.jobId)).toMatchObject({ status: "queued" });
  expect(done()).toBe(0);
});

test("F-06 runs the work itself when the database is down or does not answer", async () => {
  const scope = await make.tenant();
  const { key } = await make.definition();
  const { run, done } = work();
  const away = openDatabase({
    prepare: true,
    url: "postgres://leasehold_web:none@127.0.0.1:1/none",
    role: "web",
    max: 1,
    applicationName: "leasehold-test",
  });
  expect(await enqueueOrRun(away, scope, { job: { definitionKey: key }, run })).toEqual({ ran: true, result: 1 });
  await away.close();
  const holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
  await holder.query("begin; lock table app.live_jobs in access exclusive mode");
  const beside = await enqueueOrRun(make.web, scope, { job: { definitionKey: key }, run, waitMs: 100 });
  await holder.query("rollback");
  await holder.end();
  expect(beside).toEqual({ ran: true, result: 2 });
  expect(done()).toBe(2);
});

test("passes on a refusal and does not run the work", async () => {
  const scope = await make.tenant();
  const { run, done } = work();
  await expect(enqueueOrRun(make.web, scope, { job: { definitionKey: "no-such" }, run })).rejects.toMatchObject({
    code: "definition-unknown",
  });
  expect(done()).toBe(0);
});
