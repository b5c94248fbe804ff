import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { type ProcessName, startProcess } from "@/lib/testing/processes";
import { startWeb } from "./web";

const database = await testDatabase();
const login = decodeURIComponent(new URL(database.adminUrl).username);

const DATA_KEYS: readonly ProcessName[] = ["web", "worker"];
const LOGINS = { web: "DATABASE_AUTH_URL", worker: "DATABASE_WORKER_URL", scheduler: "DATABASE_WEB_URL" } as const;

/** What a process says that ends with code 1 instead of becoming ready. */
async function refusal(name: ProcessName, env: Record<string, string>): Promise<string> {
  const process = await startProcess(name, { database, env }).catch((error: Error) => error.message);
  if (typeof process !== "string") throw new Error(`${name} became ready`);
  expect(process).toMatch(/^ended with 1 /);
  return process;
}

test("web, worker and scheduler refuse a superuser's login by its name, and another data key", async () => {
  const web = await startWeb(database);
  for (const [name, setting] of Object.entries(LOGINS) as [ProcessName, string][]) {
    const said = await refusal(name, { [setting]: database.adminUrl });
    expect(said).toContain(`The database login ${login} is a superuser`);
    expect(said).toContain(`ALTER ROLE`);
  }
  for (const name of DATA_KEYS)
    expect(await refusal(name, { DATA_KEY: "a data key that is not the one of the others" })).toMatch(
      /DATA_KEY is not the key that the secrets in the database are sealed with/,
    );
  expect((await web.call("GET", "/readyz")).status).toBe(200);
});

test("web, worker and scheduler refuse a database that is newer, and are not ready once it has become so", async () => {
  const running = await Promise.all([
    startWeb(database),
    startProcess("worker", { database }),
    startProcess("scheduler", { database }),
  ]);
  const answers = () =>
    Promise.all(
      running.map(async ({ url }) => {
        const response = await fetch(`${url}/readyz`);
        return [response.status, /newer than this version/.test(await response.text())];
      }),
    );
  await expect.poll(answers, { timeout: 20_000 }).toEqual([
    [200, false],
    [200, false],
    [200, false],
  ]);
  await database.query("insert into app.schema_migrations (name, sha256) values ('9999_later', repeat('0', 64))");
  expect(await answers()).toEqual([
    [503, true],
    [503, true],
    [503, true],
  ]);
  for (const name of ["web", "worker", "scheduler"] as const)
    expect(await refusal(name, {})).toMatch(/The database is newer than this version/);
});
