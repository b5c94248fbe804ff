import pino from "pino";
import { expect, onTestFinished, test } from "vitest";
import { settleDataKey } from "@/admin/data-key";
import { type Database, type DatabaseRole, openDatabase } from "@/lib/db";
import { misfit, requireFit } from "@/lib/process";
import { dataKeyCheck } from "@/lib/tenancy/data-key";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();
const log = pino({ level: "silent" });

function open(role: DatabaseRole): Database {
  const db = openDatabase({
    prepare: true,
    url: database.urlFor(role),
    role,
    max: 1,
    applicationName: "leasehold-test",
  });
  onTestFinished(() => db.close());
  return db;
}

const needsWith = (key: string, worker = open("worker")) => ({
  pools: [worker] as const,
  dataKey: { check: dataKeyCheck(key), worker },
});
const start = (needs: Parameters<typeof requireFit>[0]) =>
  requireFit(needs, { log, signal: AbortSignal.timeout(30_000) });

test("the first process stores the check value of its data key; a process with another key is refused", async () => {
  await start(needsWith("the key of this test"));
  expect(await misfit(needsWith("the key of this test"))).toBeNull();
  await expect(start(needsWith("another key"))).rejects.toThrow(/DATA_KEY .*--new-data-key/);
});

test("a new data key is accepted while no secret is sealed, otherwise only on request", async () => {
  const admin = open("admin");
  const lines: string[] = [];
  const settle = (key: string, replace = false) =>
    settleDataKey(admin, { check: dataKeyCheck(key), replace, log: (line) => void lines.push(line) });
  const fits = async (key: string) => (await misfit(needsWith(key))) === null;
  await settle("second key");
  expect([await fits("second key"), await fits("the key of this test")]).toEqual([true, false]);

  await database.query(
    `with t as (insert into app.tenants (slug, name) values ('acme', 'Acme') returning id)
     insert into app.webhook_endpoints (tenant_id, url, secret) select id, 'https://example.com/', '\\x00' from t`,
  );
  await settle("third key");
  expect(lines).toEqual([expect.stringMatching(/secrets of 1 webhooks .*--new-data-key/)]);
  expect([await fits("second key"), await fits("third key")]).toEqual([true, false]);
  await settle("third key", true);
  expect([await fits("second key"), await fits("third key")]).toEqual([false, true]);
});

test("a database that is newer, older, or not migrated is refused", async () => {
  const needs = { pools: [open("web"), open("scheduler")] } as const;
  const summary = async () => (await misfit(needs))?.summary;
  expect(await summary()).toBeUndefined();
  await database.query("insert into app.schema_migrations (name, sha256) values ('9999_later', repeat('0', 64))");
  expect(await summary()).toMatch(/newer than this version/);
  await expect(start(needs)).rejects.toThrow(/newer than this version/);
  await database.query("delete from app.schema_migrations where name = '9999_later'");
  const [last] = await database.query("select max(name) as name from app.schema_migrations");
  await database.query("delete from app.schema_migrations where name = $1", [last?.name]);
  expect(await summary()).toMatch(/behind this version.*db:migrate/);
  const started = start(needs);
  await database.query("insert into app.schema_migrations (name, sha256) values ($1, repeat('0', 64))", [last?.name]);
  await started;
  await database.query("drop schema app cascade");
  expect(await summary()).toMatch(/behind this version.*db:migrate/);
});
