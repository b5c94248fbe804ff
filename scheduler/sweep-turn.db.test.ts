import { afterAll, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { sweepDependents } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";
import { sweepTurn } from "./loops";

const database = await testDatabase();
const { make, scope, child, statusOf } = await makeLinkedJobs(database);
afterAll(() => make.close());

const log = createLogger({ process: "scheduler", level: "silent", format: "json" });
const leader = { leaderId: "the-leader", term: 1 };

test("a blocked job that the database refuses to release does not stop the sweep of others", async () => {
  const parent = await make.runningJob(scope);
  const ids: string[] = [];
  for (let n = 0; n < 12; n += 1) ids.push(await child([{ jobId: parent.jobId }]));
  // An invalid state: no dependency blocks these jobs, and they were not released.
  await database.query("update app.job_dependencies set state = 'met'");
  const bad = String(ids[5]);
  await database.query(`create function app.test_refuse() returns trigger language plpgsql
    as $$ begin if new.job_id = '${bad}' then raise exception 'no'; end if; return new; end $$`);
  await database.query(
    "create trigger test_refuse before update on app.live_jobs for each row execute function app.test_refuse()",
  );
  await expect(sweepDependents(make.scheduler, { limit: 100 })).rejects.toThrow();

  const turn = sweepTurn();
  const inTerm = make.scheduler.transaction.bind(make.scheduler);
  for (let n = 0; n < 40; n += 1) {
    await turn({ db: make.scheduler, web: make.web, leader, log, random: () => 0.5, inTerm }).catch(() => {});
  }
  const good = ids.filter((id) => id !== bad);
  expect(await Promise.all(good.map(statusOf))).toEqual(good.map(() => "queued"));
  expect(await statusOf(bad)).toBe("blocked");
});
