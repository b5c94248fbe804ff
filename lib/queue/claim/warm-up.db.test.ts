import { afterAll, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { warmUp } from "./warm-up";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("warm-up opens a worker's connections, plans the statements of short jobs on each, and touches no job", async () => {
  const job = await make.job(await make.tenant());
  const db = openDatabase({
    prepare: true,
    url: database.urlFor("worker"),
    role: "worker",
    max: 8,
    keep: 3,
    applicationName: "warm",
  });
  onTestFinished(() => db.close());
  await warmUp(db, 3);
  expect(db.stats()).toMatchObject({ total: 3, idle: 3 });
  const plannedSql = {
    name: "planned",
    text: `select pg_backend_pid() as pid, regexp_replace(name, '_[0-9a-f]{8}$', '') as name, pg_sleep(0.2)
           from pg_prepared_statements order by name`,
    repeatable: true,
  };
  const asked = await Promise.all([1, 2, 3].map(() => db.run<{ pid: number; name: string }>(plannedSql)));
  expect(new Set(asked.map(([first]) => first?.pid)).size).toBe(3);
  for (const planned of asked) {
    const names = planned.map(({ name }) => name);
    expect(names).toEqual(["claim_jobs", "finish_plain", "mark_begun", "planned", "start_attempts"]);
  }
  const [row] = await database.query("select ready, lease_no::int from app.live_jobs where job_id = $1", [job.id]);
  expect(row).toEqual({ ready: true, lease_no: 0 });
});
