import { afterAll, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { enqueueJobs, getJob, settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const scope = await make.tenant();
const { key } = await make.definition();
afterAll(() => make.close());

test("an end that hits the statement timeout does not keep the rest of its batch from being settled", async () => {
  await enqueueJobs(
    make.web,
    scope,
    Array.from({ length: 4 }, () => ({ definitionKey: key })),
  );
  const jobs = await make.claim("w", 4);
  const slow = jobs[1]?.jobId ?? "";
  await database.query(`create function app.test_stall() returns trigger language plpgsql
    as $$ begin if new.job_id = '${slow}' then perform pg_sleep(30); end if; return new; end $$`);
  await database.query(
    "create trigger test_stall before insert on app.job_attempts for each row execute function app.test_stall()",
  );
  await database.query(`alter role leasehold_worker in database ${database.name} set statement_timeout = '1s'`);
  const url = database.urlFor("worker");
  const worker = openDatabase({ prepare: true, url, role: "worker", max: 1, applicationName: "leasehold-test" });
  try {
    const ends = jobs.map((job) => succeeded(job));
    const { settled, locked, lost } = await settleAttempts(worker, ends);
    expect(settled.toSorted()).toEqual(jobs.flatMap(({ jobId }) => (jobId === slow ? [] : [jobId])).sort());
    expect({ locked, lost }).toEqual({ locked: [slow], lost: [] });
    await database.query("drop trigger test_stall on app.job_attempts");
    expect(await settleAttempts(worker, ends.slice(1, 2))).toMatchObject({ settled: [slow] });
    expect((await getJob(make.web, scope, slow))?.status).toBe("succeeded");
  } finally {
    await worker.close();
    await database.query(`alter role leasehold_worker in database ${database.name} reset statement_timeout`);
  }
}, 60_000);
