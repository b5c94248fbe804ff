import { expect, onTestFinished, test } from "vitest";
import {
  type Database,
  type DatabaseRole,
  keepsSessions,
  type OpenOptions,
  openDatabase,
  openDatabaseSession,
  statement,
} from "@/lib/db";
import { DirectConnection, misfit } from "@/lib/process";
import { testDatabase } from "@/lib/testing/database";
import { startPooler } from "@/lib/testing/transaction-pooler";

const database = await testDatabase();
const urlFor = (user: string) => database.urlFor(user.replace("leasehold_", "") as DatabaseRole);
const numberSql = statement("pooler_probe", "select $1::int as n");

function open(url: string, options: Partial<OpenOptions> = {}): Database {
  const db = openDatabase({ prepare: true, url, role: "web", max: 2, applicationName: "leasehold-test", ...options });
  onTestFinished(() => db.close());
  return db;
}

/** Runs statements one after the other, so that each uses another server connection than the previous one. */
async function runMany(db: Database): Promise<PromiseSettledResult<unknown>[]> {
  const ends: PromiseSettledResult<unknown>[] = [];
  for (let n = 1; n <= 6; n += 1) ends.push(...(await Promise.allSettled([db.run(numberSql, [n])])));
  return ends;
}

test("a pooler in transaction mode is detected, and a direct connection is not taken for one", async () => {
  expect(await keepsSessions(database.urlFor("scheduler"))).toBe(true);
  const through = await startPooler({ urlFor });
  expect(await keepsSessions(through(database.urlFor("scheduler")))).toBe(false);

  const needs = (url: string) => ({
    pools: [open(database.urlFor("web"))] as const,
    direct: new DirectConnection(url),
  });
  expect(await misfit(needs(database.urlFor("web")))).toBeNull();
  expect((await misfit(needs(through(database.urlFor("web")))))?.advice).toMatch(
    /^DATABASE_DIRECT_URL .*transaction mode/,
  );
});

test("a session sends no startup parameters, which poolers refuse, and still ends when it is idle", async () => {
  const through = await startPooler({ urlFor });
  const openOn = async (url: string) => {
    const session = await openDatabaseSession({
      url,
      applicationName: "leasehold-test",
      idleTimeoutSeconds: 600,
      onLost: () => {},
    });
    onTestFinished(() => session.close());
    return session.run(statement("idle", "select current_setting('idle_session_timeout') as idle"));
  };
  expect(await openOn(database.urlFor("web"))).toEqual([{ idle: "10min" }]);
  expect(await openOn(through(database.urlFor("web")))).toHaveLength(1);
});

test("prepared statements lost by a pooler give one clear log line, a 503 and a process that is not ready", async () => {
  const through = await startPooler({ urlFor });
  const lines: string[] = [];
  const db = open(through(database.urlFor("web")), { onPreparedLost: (advice) => void lines.push(advice) });
  const failed = (await runMany(db)).flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  expect(failed.length).toBeGreaterThan(0);
  for (const error of failed) expect(error).toMatchObject({ kind: "unavailable", undone: true });
  expect(lines).toEqual([expect.stringMatching(/max_prepared_statements.*DATABASE_PREPARE=false/)]);
  expect((await misfit({ pools: [db] }))?.summary).toMatch(/DATABASE_PREPARE=false/);
});

test("without prepared statements every statement and transaction works through a pooler", async () => {
  const through = await startPooler({ urlFor });
  const db = open(through(database.urlFor("web")), { prepare: false });
  expect((await runMany(db)).filter(({ status }) => status === "rejected")).toEqual([]);
  const sums = [1, 2, 3].map((n) =>
    db.transaction(async (tx) => [await tx.run(numberSql, [n]), await tx.run(numberSql, [n + 1])]),
  );
  expect(await Promise.all(sums)).toEqual([1, 2, 3].map((n) => [[{ n }], [{ n: n + 1 }]]));
  expect(await misfit({ pools: [db] })).toBeNull();
});
