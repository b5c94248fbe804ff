import { afterAll, expect, test } from "vitest";
import { type DatabaseError, statement, withTenant } from "@/lib/db";
import { publishWatched, runTrigger, settleAttempts, startAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const timeoutSql = statement("test_statement_timeout", "select current_setting('statement_timeout') as timeout");
const name = "provider.folder.updated";

test("a tenant with very many trigger jobs delays other tenants' folders by two seconds at most", async () => {
  const scope = await make.tenant();
  const definition = await make.definition();
  const triggerId = await listener(database, scope, {
    eventName: name,
    definitionId: definition.id,
    payloadTemplate: {},
  });
  await runTrigger(make.web, scope, { triggerId });
  const claimed = await make.claim("w");
  await startAttempts(make.worker, claimed);
  await settleAttempts(make.worker, claimed.map(succeeded));
  const publish = () =>
    withTenant(make.web, scope.tenantId, (tx) =>
      publishWatched(tx, scope, { event: { name, source: "scheduler", data: {} }, sinceMs: 60_000 }),
    );
  await publish();
  // Reading the clock for a job takes as long as searching very many jobs.
  await database.query(`create or replace function app.now() returns timestamptz language plpgsql stable as $$
    begin perform pg_sleep(4); return now(); end $$`);
  const error = await publish().then(
    () => null,
    (thrown: DatabaseError) => thrown,
  );
  expect(error).toMatchObject({ kind: "timeout", sqlState: "57014" });
});

test("the timeout applies to the search for jobs only, not to the firings", async () => {
  const scope = await make.tenant();
  await database.moveClock(0);
  await withTenant(make.web, scope.tenantId, async (tx) => {
    const timeout = () => tx.run(timeoutSql);
    const before = await timeout();
    await publishWatched(tx, scope, { event: { name, source: "scheduler", data: {} }, sinceMs: 1000 });
    expect(await timeout()).toEqual(before);
  });
});
