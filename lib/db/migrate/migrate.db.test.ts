import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { beforeEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { type Database, migrate, openDatabase, roleUrl, schemaStatus } from "@/lib/db";
import { createTestDatabase, type TestDatabase } from "@/lib/testing/database";
import { nextMigration, schemaFolder } from "@/lib/testing/schema-folder";
import { readSchemaFiles } from "./files";

const fixture = fileURLToPath(new URL("./migrate-process.fixture.ts", import.meta.url));
const MIGRATIONS = readSchemaFiles().migrations.map(({ name }) => name);
const FUNCTIONS = readSchemaFiles().functions.map(({ name }) => `functions/${name}`);

let database: TestDatabase;
const options = (folder?: string) => ({
  adminUrl: database.adminUrl,
  secret: database.secret,
  log: () => {},
  ...(folder && { folder }),
});
const ledger = async () =>
  (await database.query<{ name: string }>("select name from app.schema_migrations order by name")).map(
    ({ name }) => name,
  );
const heldLocks = async () => (await database.query("select 1 from pg_locks where locktype = 'advisory'")).length;

beforeEach(async () => {
  database = await createTestDatabase(inject("testServer"));
  onTestFinished(() => database.drop());
  await database.query("drop schema app cascade");
});

function openWeb(): Database {
  const url = roleUrl(database.adminUrl, database.secret, "web");
  const db = openDatabase({ prepare: true, url, role: "web", max: 1, applicationName: "t" });
  onTestFinished(() => db.close());
  return db;
}

function startProcess(folder?: string): ChildProcess {
  const args = ["--import", "tsx", fixture, database.adminUrl, database.secret, ...(folder ? [folder] : [])];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  const text = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => (text.out += chunk));
  child.stderr?.on("data", (chunk) => (text.err += chunk));
  const [code] = await once(child, "close");
  return { code, ...text };
}

describe("OPS-05 six processes migrate at once", () => {
  test.each([
    ["an empty database", 0],
    ["a database one version behind", MIGRATIONS.length - 1],
  ])(
    "%s: each file is applied once, all processes succeed, no lock stays",
    async (_what, count) => {
      if (count > 0) await migrate(options(schemaFolder({}, count)));
      const ends = await Promise.all(Array.from({ length: 6 }, () => endOf(startProcess())));
      expect(ends.map(({ code, err }) => [code, err])).toEqual(Array(6).fill([0, ""]));
      const applied = ends.flatMap(({ out }) => JSON.parse(out) as string[]).sort();
      expect(applied).toEqual([...MIGRATIONS.slice(count), ...(count > 0 ? [] : FUNCTIONS)]);
      expect(await ledger()).toEqual(MIGRATIONS);
      await expect.poll(heldLocks, { timeout: 10_000 }).toBe(0); // a backend outlives its client by a moment
    },
    60_000,
  );

  test.each(["SIGKILL", "SIGTERM"] as const)(
    "OPS-03 a process ended by %s midway leaves no lock and no partial file; the next one continues",
    async (signal) => {
      const folder = schemaFolder({
        [nextMigration("slow")]: "create table app.half (id integer); select pg_sleep(60);",
      });
      const child = startProcess(folder);
      const sleeping = () =>
        database.query("select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'");
      await expect.poll(async () => (await sleeping()).length, { timeout: 60_000 }).toBe(1);
      child.kill(signal);
      await once(child, "close");
      await expect.poll(heldLocks, { timeout: 10_000 }).toBe(0);
      expect(await ledger()).toEqual(MIGRATIONS);
      expect(await database.query("select to_regclass('app.half') as half")).toEqual([{ half: null }]);
      writeFileSync(path.join(folder, nextMigration("slow")), "create table app.half (id integer);");
      expect((await migrate(options(folder))).applied).toEqual([
        path.basename(nextMigration("slow"), ".sql"),
        ...FUNCTIONS,
      ]);
    },
    120_000,
  );
});

describe("OPS-06 ledger and schema disagree", () => {
  test("a schema without a ledger: the error says what to do and nothing changes", async () => {
    await migrate(options());
    await database.query("drop table app.schema_migrations");
    await expect(migrate(options())).rejects.toMatchObject({
      reason: "unrecorded",
      message: expect.stringContaining("insert into app.schema_migrations"),
    });
    expect(await database.query("select to_regclass('app.schema_migrations') as ledger")).toEqual([{ ledger: null }]);
  });

  test("a lost ledger row: the error names the file, and following its instructions repairs the database", async () => {
    // Adds a file of its own as the last one, because some of the real files change nothing when applied again.
    const folder = schemaFolder({ [nextMigration("x")]: "create table app.x (id integer);" });
    await migrate(options(folder));
    const last = readSchemaFiles(folder).migrations.at(-1);
    await database.query("delete from app.schema_migrations where name = $1", [last?.name]);
    await expect(migrate(options(folder))).rejects.toMatchObject({
      reason: "unrecorded",
      message: expect.stringContaining(`${last?.name}`),
    });
    await database.query("insert into app.schema_migrations (name, sha256) values ($1, $2)", [
      last?.name,
      last?.sha256,
    ]);
    expect((await migrate(options(folder))).applied).toEqual([]);
  });

  test("a file that changed after it was applied is refused", async () => {
    await migrate(options(schemaFolder({ [nextMigration("x")]: "select 1;" })));
    const folder = schemaFolder({ [nextMigration("x")]: "select 2;" });
    await expect(migrate(options(folder))).rejects.toMatchObject({ reason: "changed" });
  });

  test("a database newer than this build is refused, and a failing file leaves the earlier ones applied", async () => {
    const bad = schemaFolder({ [nextMigration("bad")]: "create table app.half (id integer); select 1/0;" });
    await expect(migrate(options(bad))).rejects.toMatchObject({
      reason: "failed",
      message: expect.stringContaining("division by zero"),
    });
    expect(await ledger()).toEqual(MIGRATIONS);
    await migrate(options(schemaFolder({ [nextMigration("x")]: "select 1;" })));
    await expect(migrate(options())).rejects.toMatchObject({ reason: "newer" });
  });
});

describe("files of functions", () => {
  const answers = (n: number) =>
    `create or replace function app.answer() returns integer language sql as $$ select ${n} $$;`;
  const withAnswer = (text: string) => options(schemaFolder({ "functions/answer.sql": text }));
  const answer = async () => (await database.query<{ answer: number }>("select app.answer() as answer"))[0]?.answer;

  test("a changed text is applied once; an older build does not restore its own", async () => {
    expect((await migrate(withAnswer(answers(1)))).applied).toContain("functions/answer");
    const older = withAnswer(answers(1));
    const newer = withAnswer(answers(2));
    expect((await migrate(newer)).applied).toEqual(["functions/answer"]);
    expect((await migrate(newer)).applied).toEqual([]);
    await expect(migrate(older)).rejects.toMatchObject({ reason: "newer" });
    await expect(migrate(options())).rejects.toMatchObject({ reason: "newer" });
    expect(await answer()).toBe(2);
  });

  test("if one fails, all functions stay unchanged", async () => {
    await migrate(withAnswer(answers(1)));
    const files = { "functions/answer.sql": answers(2), "functions/broken.sql": "select 1/0;" };
    await expect(migrate(options(schemaFolder(files)))).rejects.toMatchObject({
      reason: "failed",
      message: expect.stringContaining("functions/broken failed"),
    });
    expect(await answer()).toBe(1);
  });

  test("a database of a development version is refused, and processes report it", async () => {
    await migrate(options());
    await database.query("drop table app.schema_functions");
    await database.query("update app.schema_migrations set name = '0001_schema_and_clock' where name like '0001%'");
    await expect(migrate(options())).rejects.toMatchObject({ reason: "before-baseline" });
    const db = openWeb();
    expect(await schemaStatus(db)).toBe("before-baseline");
  });
});

test("after a migration only the application's roles can connect to the database or create in it", async () => {
  await migrate(options());
  const rows = await database.query(
    `select a.privilege_type as privilege, a.grantee::regrole::text as grantee
     from pg_database d, aclexplode(d.datacl) a where d.datname = $1 and a.grantee <> d.datdba order by 1, 2`,
    [database.name],
  );
  const connect = ["auth", "migrator", "platform", "scheduler", "web", "worker"];
  expect(rows).toEqual([
    ...connect.map((role) => ({ privilege: "CONNECT", grantee: `leasehold_${role}` })),
    { privilege: "CREATE", grantee: "leasehold_owner" },
  ]);
});

test("readiness distinguishes a database that is behind, current or newer", async () => {
  const db = openWeb();
  expect(await schemaStatus(db)).toBe("behind");
  await migrate(options(schemaFolder({}, MIGRATIONS.length - 1)));
  expect(await schemaStatus(db)).toBe("behind");
  await migrate(options());
  expect(await schemaStatus(db)).toBe("current");
  const [file] = await database.query("delete from app.schema_functions where name = 'limits' returning name, sha256");
  expect(await schemaStatus(db)).toBe("behind");
  await migrate(options());
  expect(await schemaStatus(db)).toBe("current");
  await database.query("insert into app.schema_functions (name, sha256) values ($1, repeat('0', 64))", [file?.name]);
  expect(await schemaStatus(db)).toBe("newer");
  await database.query("delete from app.schema_functions where sha256 = repeat('0', 64)");
  expect(await schemaStatus(db)).toBe("current");
  await migrate(options(schemaFolder({ [nextMigration("x")]: "select 1;" })));
  expect(await schemaStatus(db)).toBe("newer");
});

test("a migration can change the rows of every tenant, and no process can see them because of that", async () => {
  await migrate(options());
  await database.query(
    `with made as (insert into app.tenants (slug, name) select 't' || n, 't' from generate_series(1, 4) n returning id)
     insert into app.lists (tenant_id, name) select id, 'before' from made`,
  );
  const fix = schemaFolder({ [nextMigration("data_fix")]: "update app.lists set name = 'after';" });
  await migrate(options(fix));
  expect(await database.query("select name, count(*)::int as n from app.lists group by name")).toEqual([
    { name: "after", n: 4 },
  ]);
  const web = new pg.Client({ connectionString: roleUrl(database.adminUrl, database.secret, "web") });
  onTestFinished(() => web.end());
  await web.connect();
  expect((await web.query("select name from app.lists")).rows).toEqual([]);
});

test("a server that cannot be reached is reported as unreachable, without the password", async () => {
  const url = new URL(database.adminUrl);
  url.port = "1";
  const error: Error = await migrate({ ...options(), adminUrl: url.href }).then(
    () => new Error("it should have failed"),
    (failure: Error) => failure,
  );
  expect(error).toMatchObject({ reason: "unreachable" });
  expect(error.message).not.toContain(url.password);
});
