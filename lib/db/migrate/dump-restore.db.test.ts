import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { isInstallationPaused, setHome } from "@/admin/home";
import { type Database, makeRoles, migrate, openDatabase, roleUrl } from "@/lib/db";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";
import { createLogger } from "@/lib/observability/log";
import { misfit, requireFit } from "@/lib/process";
import { findPostgresTools } from "@/lib/testing/postgres-tools";
import { seedTenant } from "../row-security/tenant-rows.fixture";

const run = promisify(execFile);
const SECRET = "a secret of this test alone, which opens nothing else";
const tools = await findPostgresTools();
afterAll(() => tools?.remove());
if (!tools) console.info("no pg_dump was found and none could be downloaded: dump and restore are not tested");

/**
 * Starts a server of its own with the login that the README asks for: may create roles and databases, not a superuser.
 */
async function startServer(binDir: string): Promise<{ adminUrl: string; superUrl: string; folder: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), "leasehold-restore-"));
  chmodSync(folder, 0o755);
  const server = await startEmbedded({ home: folder, password: "x", durable: false, pgBin: binDir });
  onTestFinished(async () => {
    await server.stop();
    for (const one of new Set([folder, server.dir])) rmSync(one, { recursive: true, force: true, maxRetries: 5 });
  });
  await query(server.adminUrl("postgres"), "create role installer login createrole createdb password 'pw'");
  await query(server.adminUrl("postgres"), "create database leasehold owner installer");
  const url = new URL(server.adminUrl("leasehold"));
  url.username = "installer";
  url.password = "pw";
  return { adminUrl: url.href, superUrl: server.adminUrl("leasehold"), folder };
}

async function query(connectionString: string, text: string, values?: unknown[]): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

function open(adminUrl: string, role: "scheduler" | "admin"): Database {
  const url = roleUrl(adminUrl, SECRET, role);
  const db = openDatabase({ prepare: true, url, role, max: 1, applicationName: "leasehold-test" });
  onTestFinished(() => db.close());
  return db;
}

/** Counts the rows of each table, without the partitions. */
async function rowsOf(superUrl: string): Promise<Record<string, number>> {
  const tables = await query(
    superUrl,
    "select relname from pg_class where relnamespace = 'app'::regnamespace and relkind in ('r', 'p') and not relispartition",
  );
  const counts = tables.map(({ relname }) => `(select count(*) from app.${relname}) as ${relname}`);
  const [row] = await query(superUrl, `select ${counts.sort().join(", ")}`);
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, n]) => [name, Number(n)]));
}

test.skipIf(!tools)("a dump made as documented restores completely on an empty server, and starts paused", async () => {
  const { binDir, env } = tools ?? { binDir: "", env: process.env };
  const [from, to] = [await startServer(binDir), await startServer(binDir)];
  const log = createLogger({ process: "scheduler", level: "silent", format: "json" });
  const needsOf = (scheduler: Database) => ({ pools: [scheduler] as const, works: scheduler });
  await migrate({ adminUrl: from.adminUrl, secret: SECRET, log: () => {} });
  await seedTenant((text, values) => query(from.superUrl, text, values), "acme");
  await requireFit(needsOf(open(from.adminUrl, "scheduler")), { log, signal: AbortSignal.timeout(30_000) });

  const file = path.join(from.folder, "leasehold.dump");
  const how = ["--format=custom", "--schema=app", "--role=leasehold_owner", "--enable-row-security"];
  await run(path.join(binDir, "pg_dump"), [...how, `--file=${file}`, from.adminUrl], { env });
  await makeRoles({ adminUrl: to.adminUrl, secret: SECRET });
  const restore = ["--exit-on-error", "--single-transaction", "--role=leasehold_owner", `--dbname=${to.adminUrl}`];
  await run(path.join(binDir, "pg_restore"), [...restore, file], { env });

  await query(from.superUrl, "create role leasehold_backup login bypassrls password 'pw'");
  await query(from.superUrl, "grant connect on database leasehold to leasehold_backup");
  await query(from.superUrl, "grant pg_read_all_data to leasehold_backup");
  const backup = new URL(from.adminUrl);
  backup.username = "leasehold_backup";
  const dataOf = async (...args: string[]) => {
    const dump = [...args, "--data-only", "--schema=app"];
    const { stdout } = await run(path.join(binDir, "pg_dump"), dump, { env, maxBuffer: 1e8 });
    return stdout.split("\n").filter((line) => !/^(--|SET |\\(un)?restrict)/.test(line));
  };
  const byOwner = await dataOf("--role=leasehold_owner", "--enable-row-security", from.adminUrl);
  expect(await dataOf(backup.href)).toEqual(byOwner);

  const rows = await rowsOf(from.superUrl);
  expect(Math.min(rows.users ?? 0, rows.tenants ?? 0, rows.api_keys ?? 0, rows.jobs ?? 0)).toBeGreaterThan(0);
  expect(await rowsOf(to.superUrl)).toEqual(rows);
  expect(await migrate({ adminUrl: to.adminUrl, secret: SECRET, log: () => {} })).toEqual({ applied: [] });

  const restored = open(to.adminUrl, "scheduler");
  expect((await misfit(needsOf(restored)))?.summary).toMatch(/^Paused: .*--resume/);
  const started = requireFit(needsOf(restored), { log, signal: AbortSignal.timeout(30_000) });
  const admin = open(to.adminUrl, "admin");
  expect(await Promise.race([isInstallationPaused(admin), started])).toBe(true);
  await setHome(admin, "resume");
  await started;
  expect(await misfit(needsOf(restored))).toBeNull();
  await setHome(admin, "pause");
  expect((await misfit(needsOf(restored)))?.summary).toMatch(/^Paused: /);
});
