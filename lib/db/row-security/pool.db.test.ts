import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { type Database, DatabaseError, openDatabase, statement, withTenant } from "@/lib/db";
import { testDatabase } from "@/lib/testing/database";
import { seedTenant } from "./tenant-rows.fixture";

const database = await testDatabase();
const query = (text: string, values?: unknown[]) => database.query(text, values);
const tenants = [
  await seedTenant(query, "pool-a"),
  await seedTenant(query, "pool-b"),
  await seedTenant(query, "pool-c"),
];

const readLists = statement("read_lists", "select tenant_id from app.lists");
const readSetting = statement("read_setting", "select current_setting('app.current_tenant_id', true) as tenant");

function open(max: number): Database {
  const db = openDatabase({
    prepare: true,
    url: database.urlFor("web"),
    role: "web",
    max,
    applicationName: "rls-pool",
    acquireTimeoutMs: 60_000,
  });
  onTestFinished(() => db.close());
  return db;
}

/** Runs `work` for 0 … count-1, at most `width` at a time. */
async function interleave(count: number, width: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

const tenantOf = (n: number) => tenants[n % tenants.length]?.tenantId ?? "";

/**
 * One request: reads as its tenant, without a tenant, or throws in mid transaction. Returns the number of foreign rows
 * seen.
 */
async function request(db: Database, n: number): Promise<number> {
  const tenantId = tenantOf(n);
  if (n % 4 === 3) return (await db.run(readLists)).length;
  let foreign = 0;
  const work = withTenant(db, tenantId, async (tx) => {
    const rows = await tx.run<{ tenant_id: string }>(readLists);
    foreign = rows.filter((row) => row.tenant_id !== tenantId).length + Math.abs(rows.length - 1);
    if (n % 11 === 0) throw new Error("of the request");
  });
  await work.catch((error: Error) => expect(error.message).toBe("of the request"));
  return foreign;
}

test("RLS-10 TENANT-06 20,000 interleaved requests over 5 connections, one in eleven failing, return no foreign row", async () => {
  const db = open(5);
  let foreign = 0;
  await interleave(20_000, 20, async (n) => {
    foreign += await request(db, n);
  });
  expect(foreign).toBe(0);
  for (let n = 0; n < 10; n++) expect(await db.run(readLists)).toEqual([]);
}, 180_000);

test("RLS-10 the same requests with the tenant set for the session leak, so the test above can fail", async () => {
  const pool = new pg.Pool({ connectionString: database.urlFor("web"), max: 5 });
  onTestFinished(() => pool.end());
  let foreign = 0;
  await interleave(2000, 20, async (n) => {
    const tenantId = tenantOf(n);
    if (n % 4 !== 3) await pool.query("select set_config('app.current_tenant_id', $1, false)", [tenantId]);
    const { rows } = await pool.query<{ tenant_id: string }>(readLists.text);
    foreign += rows.filter((row) => row.tenant_id !== tenantId).length;
  });
  expect(foreign).toBeGreaterThan(100);
}, 60_000);

test("RLS-2 after commit and rollback the connection has no tenant, and reads return nothing", async () => {
  const db = open(1);
  await withTenant(db, tenantOf(0), (tx) => tx.run(readLists));
  expect(await db.run(readSetting)).toEqual([{ tenant: "" }]);
  expect(await db.run(readLists)).toEqual([]);
  await withTenant(db, tenantOf(1), () => Promise.reject(new Error("x"))).catch(() => {});
  expect((await db.run<{ tenant: string | null }>(readSetting))[0]?.tenant || "").toBe("");
  expect(await db.run(readLists)).toEqual([]);
});

test("DZ-4 one prepared statement returns each tenant its own rows", async () => {
  const db = open(1);
  for (const { tenantId } of [...tenants, ...tenants]) {
    expect(await withTenant(db, tenantId, (tx) => tx.run(readLists))).toEqual([{ tenant_id: tenantId }]);
  }
});

test("DZ-2 the pool used inside a tenant's transaction returns no rows", async () => {
  const db = open(2);
  expect(await withTenant(db, tenantOf(0), () => db.run(readLists))).toEqual([]);
});

test("RLS-1 an invalid tenant id is refused before it reaches the database", async () => {
  for (const bad of ["", "acme", `${tenantOf(0)}' or true --`]) {
    await expect(withTenant(open(1), bad, (tx) => tx.run(readLists))).rejects.toBeInstanceOf(DatabaseError);
  }
});

test("RLS-1 the tenant is set in one place of the code, for a transaction only", () => {
  const sources = ["lib", "web", "worker", "scheduler", "admin", "app", "jobs"].flatMap(sourceFiles);
  const setting = sources.filter((file) => readFileSync(file, "utf8").includes("app.current_tenant_id"));
  expect(setting).toEqual(["lib/db/tenant.ts"]);
  expect(sources.filter((file) => /['"`]\s*set role\b/i.test(readFileSync(file, "utf8")))).toEqual([]);
});

function sourceFiles(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
  return names
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|fixture)\.tsx?$/.test(name))
    .map((name) => path.posix.join(folder, name));
}
