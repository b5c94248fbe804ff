import pg from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { migrate } from "@/lib/db";
import { enqueueJob } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { nextMigration, schemaFolder } from "@/lib/testing/schema-folder";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

const folderWith = (title: string, sql: string) => schemaFolder({ [nextMigration(title)]: sql });

async function longReader(): Promise<pg.Client> {
  const reader = new pg.Client({ connectionString: database.adminUrl, application_name: "a long report" });
  await reader.connect();
  onTestFinished(() => reader.end().catch(() => {}));
  await reader.query("begin");
  await reader.query("select count(*) from app.jobs");
  return reader;
}

const options = (folder: string, log: (line: string) => void = () => {}) => ({
  adminUrl: database.adminUrl,
  secret: database.secret,
  log,
  folder,
});

test("while a migration waits for the lock of a long reader, enqueues wait less than a second", async () => {
  const scope = await make.tenant();
  const { key: definitionKey } = await make.definition();
  const reader = await longReader();
  const lines: string[] = [];
  let done = false;
  const folder = folderWith(
    "waits",
    "alter table app.live_jobs add column e27 int; alter table app.jobs add column e27 int;",
  );
  const migrating = migrate(options(folder, (line) => void lines.push(line))).finally(() => {
    done = true;
  });
  await waitFor(() => lines.length > 0);
  // Several attempts of the migration pass during this time. Each is alike, however long the reader stays.
  let longest = 0;
  const until = performance.now() + 6000;
  while (performance.now() < until) {
    const from = performance.now();
    await enqueueJob(make.web, scope, { definitionKey });
    longest = Math.max(longest, performance.now() - from);
  }
  expect(longest).toBeGreaterThan(50); // at least one insert queued behind an attempt
  expect(longest).toBeLessThan(1000);
  expect(done).toBe(false);
  expect(lines[0]).toContain("a long report");
  await reader.query("rollback");
  expect((await migrating).applied).toHaveLength(1);
}, 60_000);

test("a lock that is never free ends the migration naming the session that holds it, and changes nothing", async () => {
  await longReader();
  const folder = folderWith("gives_up", "alter table app.jobs add column never int;");
  // The database may hold the extra file of the previous test, which is not in this folder.
  await database.query("delete from app.schema_migrations where name like '%\\_waits'");
  await expect(migrate({ ...options(folder), lockPatienceMs: 500 })).rejects.toMatchObject({
    reason: "failed",
    message: expect.stringContaining("a long report"),
  });
  expect(
    await database.query("select 1 from pg_attribute where attrelid = 'app.jobs'::regclass and attname = 'never'"),
  ).toEqual([]);
}, 60_000);
