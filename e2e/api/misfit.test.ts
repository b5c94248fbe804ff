import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import type { DatabaseRole } from "@/lib/db";
import { createTestDatabase, testDatabase } from "@/lib/testing/database";
import { type ProcessName, plainEnvironment, type StartOptions, startProcess } from "@/lib/testing/processes";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { startPooler } from "@/lib/testing/transaction-pooler";
import { expectProblem, startWeb } from "./web";

const run = promisify(execFile);
const database = await testDatabase();
const login = decodeURIComponent(new URL(database.adminUrl).username);
const ALL: readonly ProcessName[] = ["web", "worker", "scheduler"];
const LOGINS = { web: "DATABASE_AUTH_URL", worker: "DATABASE_WORKER_URL", scheduler: "DATABASE_WEB_URL" } as const;

const start = (name: ProcessName, env: Record<string, string> = {}, on: StartOptions["database"] = database) =>
  startProcess(name, { database: on, env: { SHUTDOWN_GRACE_SECONDS: "3", ...env } });

/** Returns the output of a process that exits with 1 instead of becoming ready. */
async function refusal(...args: Parameters<typeof start>): Promise<string> {
  const said = await start(...args).then(
    () => `${args[0]} became ready`,
    (error: Error) => error.message,
  );
  expect(said).toMatch(/^ended with 1 /);
  return said;
}

async function readyz({ url }: { readonly url: string }): Promise<[number, string]> {
  const response = await fetch(`${url}/readyz`);
  return [response.status, await response.text()];
}

async function allReady(processes: readonly { readonly url: string }[]): Promise<void> {
  const statuses = async () => (await Promise.all(processes.map(readyz))).map(([status]) => status);
  await expect.poll(statuses, { timeout: 30_000 }).toEqual(processes.map(() => 200));
}

test("web, worker and scheduler refuse a superuser login; web and worker refuse another data key", async () => {
  const web = await start("web");
  const byLogin = Promise.all(ALL.map((name) => refusal(name, { [LOGINS[name]]: database.adminUrl })));
  for (const said of await byLogin) expect(said).toMatch(new RegExp(`login ${login} is a superuser .*ALTER ROLE`));
  const DATA_KEY = "a data key that is not the one of the others";
  for (const said of await Promise.all([refusal("web", { DATA_KEY }), refusal("worker", { DATA_KEY })]))
    expect(said).toMatch(/DATA_KEY is not the key that the secrets in the database are sealed with/);
  expect(await readyz(web)).toEqual([200, expect.anything()]);
});

test("web, worker and scheduler refuse a database with a newer schema, and become not ready when it is upgraded", async () => {
  const running = await Promise.all(ALL.map((name) => start(name)));
  await allReady(running);
  await database.query("insert into app.schema_migrations (name, sha256) values ('9999_later', repeat('0', 64))");
  const refused = [503, expect.stringContaining("newer than this version")];
  for (const process of running) await expect.poll(() => readyz(process), { timeout: 10_000 }).toEqual(refused);
  for (const said of await Promise.all(ALL.map((name) => refusal(name))))
    expect(said).toMatch(/The database is newer than this version/);
});

test("behind a pooler in transaction mode every process requires DATABASE_DIRECT_URL and works with it", async () => {
  const pooled = await createTestDatabase(inject("testServer"));
  onTestFinished(() => pooled.drop());
  const urlFor = (user: string) => pooled.urlFor(user.replace("leasehold_", "") as DatabaseRole);
  const through = await startPooler({ urlFor, ignoreOptions: true });
  const behind = { adminUrl: through(pooled.adminUrl), secret: pooled.secret };
  const DATABASE_PREPARE = "false";
  for (const said of await Promise.all(ALL.map((name) => refusal(name, { DATABASE_PREPARE }, behind))))
    expect(said).toMatch(/DATABASE_DIRECT_URL .* pooler in transaction mode/);

  const other = new pg.Client({ connectionString: pooled.adminUrl });
  await other.connect();
  await other.query("select pg_advisory_lock(hashtextextended('leasehold.leader', 0))");
  const env = { DATABASE_PREPARE, DATABASE_DIRECT_URL: pooled.adminUrl };
  const [web, worker, scheduler] = await Promise.all([
    start("web", env, behind),
    start("worker", env, behind),
    start("scheduler", env, behind),
  ]);
  expect(await readyz(scheduler)).toEqual([503, expect.stringContaining("no scheduler leads")]);
  await other.end();
  await allReady([web, worker, scheduler]);
});

test("in a restored copy web reports that it is paused, and no job runs until the operator resumes", async () => {
  const copy = await createTestDatabase(inject("testServer"));
  onTestFinished(() => copy.drop());
  await copy.query("update app.installation set home = '1/1'");
  const make = accountsIn(copy);
  const acme = await make.tenant("acme");
  const boss = await make.user({ superAdmin: true, roles: { [acme.id]: "admin" } });
  const web = await startWeb(copy);
  const working = Promise.all([start("worker", {}, copy), start("scheduler", {}, copy)]);
  expect(await readyz(web)).toEqual([200, expect.stringContaining("--resume")]);
  const cookie = await web.login(boss);
  for (const path of ["/t/acme/jobs", "/platform/workers"])
    expect((await web.call("GET", path, { cookie })).text).toContain("npm run db:migrate -- --resume");
  const { key } = await make.key(boss, { kind: "worker", definitions: ["anything"] });
  const claim = { limit: 1, worker: { name: "remote" }, definitions: ["anything"] };
  expectProblem(await web.call("POST", "/api/v1/worker/jobs/claim", { key, body: claim }), 503, "unavailable");

  const { DATABASE_URL, LEASEHOLD_SECRET } = { DATABASE_URL: copy.adminUrl, LEASEHOLD_SECRET: copy.secret };
  const env = { ...plainEnvironment(), DATABASE_URL, LEASEHOLD_SECRET };
  const admin = (...args: string[]) => run(process.execPath, ["dist/test/admin.mjs", "migrate", ...args], { env });
  expect((await admin()).stdout).toMatch(/^Paused: .*--resume/m);
  expect(await copy.query("select 1 from app.job_workers")).toEqual([]);
  expect(await copy.query("select 1 from app.leader where term > 0")).toEqual([]);
  await admin("--resume");
  const processes = await working;
  for (const one of processes) expect(one.output()).toContain("Paused: the database is a restored copy");
  await allReady(processes);
});
