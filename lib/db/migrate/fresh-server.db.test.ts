import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openDatabase, statement } from "@/lib/db";
import { startEmbedded } from "@/lib/db/embedded/index.mjs";
import { migrate } from "./index";
import { roleName, roleUrl, withLogin } from "./role-logins.mjs";

// Roles belong to a whole server, so these tests need a server that has none yet.
const home = mkdtempSync(path.join(tmpdir(), "leasehold-fresh-"));
const SECRET = "a secret of this test";
let server: Awaited<ReturnType<typeof startEmbedded>>;

beforeAll(async () => {
  server = await startEmbedded({ home, password: "x", durable: false, pgBin: process.env.PG_BIN });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
});

/** Runs the statements in order and returns the rows of the last. */
async function asSuperuser(...texts: string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: server.adminUrl("postgres") });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const text of texts) ({ rows } = await client.query(text));
    return rows;
  } finally {
    await client.end();
  }
}

function urlOf(database: string, user: string): string {
  const url = new URL(server.adminUrl(database));
  url.username = user;
  url.password = "pw";
  return url.href;
}

const run = (adminUrl: string, secret = SECRET) => migrate({ adminUrl, secret, log: () => {} });

async function canServe(adminUrl: string, secret = SECRET): Promise<boolean> {
  const db = openDatabase({
    prepare: true,
    url: roleUrl(adminUrl, secret, "web"),
    role: "web",
    max: 1,
    applicationName: "fresh",
    acquireTimeoutMs: 1000,
  });
  onTestFinished(() => db.close());
  return db.run(statement("serves", "select 1 from app.job_queues limit 1")).then(
    (rows) => rows.length === 1,
    () => false,
  );
}

describe("a server without the roles", () => {
  test("a login that can create roles and owns the database is enough", async () => {
    await asSuperuser(
      "create role installer login createrole createdb password 'pw'",
      "create database limited owner installer",
      "create role outsider login password 'pw'",
    );
    const adminUrl = urlOf("limited", "installer");
    expect((await run(adminUrl)).applied).toContain("0001_schema_clock_and_ids");
    expect(await run(adminUrl)).toEqual({ applied: [] });
    expect(await canServe(adminUrl)).toBe(true);
    const outsider = new pg.Client({ connectionString: urlOf("limited", "outsider") });
    await expect(outsider.connect()).rejects.toMatchObject({ code: "42501" });
  });

  test("six databases of one server can be migrated concurrently although they share roles", async () => {
    const names = Array.from({ length: 6 }, (_, n) => `side_by_side_${n}`);
    await asSuperuser(...names.map((name) => `create database ${name}`));
    const results = await Promise.all(names.map((name) => run(server.adminUrl(name))));
    for (const { applied } of results) expect(applied).toContain("0001_schema_clock_and_ids");
    expect(await canServe(server.adminUrl("side_by_side_5"))).toBe(true);
  });

  test("a new secret gives the roles new passwords, and the old ones stop working", async () => {
    const adminUrl = server.adminUrl("side_by_side_0");
    await run(adminUrl, "another secret");
    expect(await canServe(adminUrl, "another secret")).toBe(true);
    expect(await canServe(adminUrl)).toBe(false);
    await run(adminUrl);
    expect(await canServe(adminUrl)).toBe(true);
  });

  test("the migrator has no password or login until an operator sets them, and a migration keeps them", async () => {
    await asSuperuser("create database prepared", "grant create on database prepared to leasehold_owner");
    await asSuperuser(
      "revoke all on database prepared from public",
      "grant connect on database prepared to leasehold_migrator, leasehold_web",
    );
    const login =
      "select rolcanlogin as can, rolpassword is null as bare from pg_authid where rolname = 'leasehold_migrator'";
    expect(await asSuperuser(login)).toEqual([{ can: false, bare: true }]);
    await asSuperuser("alter role leasehold_migrator login password 'pw'");
    const { applied } = await run(urlOf("prepared", "leasehold_migrator"));
    expect(applied).toContain("0001_schema_clock_and_ids");
    expect(await canServe(server.adminUrl("prepared"))).toBe(true);
    await run(server.adminUrl("prepared"));
    expect(await asSuperuser(login)).toEqual([{ can: true, bare: false }]);
  });

  test("a role with its own URL gets that password, and the other roles keep theirs", async () => {
    const adminUrl = server.adminUrl("side_by_side_1");
    const loginAs = async (role: "web" | "worker", password?: string) => {
      const own = roleUrl(adminUrl, SECRET, role);
      const connectionString = password ? withLogin(own, { user: roleName(role), password }) : own;
      const client = new pg.Client({ connectionString });
      await client.connect();
      await client.end();
    };
    await migrate({ adminUrl, secret: SECRET, rolePasswords: { worker: "one of its own" }, log: () => {} });
    await loginAs("worker", "one of its own");
    await loginAs("web");
    await expect(loginAs("worker")).rejects.toMatchObject({ code: "28P01" });
    await run(adminUrl);
    await loginAs("worker");
  });

  test("an error names the rights that a login lacks", async () => {
    await asSuperuser("create database foreign_one", "create role powerless login password 'pw'");
    await expect(run(urlOf("foreign_one", "powerless"))).rejects.toMatchObject({
      reason: "not-allowed",
      message: expect.stringMatching(/must own database foreign_one/),
    });
  });
});
