import pg from "pg";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createLimit, listLimits, updateLimit } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const { key: definitionKey } = await make.definition();
afterAll(() => make.close());
beforeEach(() => database.query("truncate app.concurrency_limits, app.rate_buckets"));

const theLimit = (values: Partial<Parameters<typeof createLimit>[1]>) =>
  createLimit(make.platform, { scope: "definition", definition_key: definitionKey, ...values });

test("concurrent changes of one limit are both applied", async () => {
  const { id } = await theLimit({ max_running: 10, starts_per_second: 5 });
  const holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
  await holder.query("begin; select 1 from app.concurrency_limits for update");
  const both = [{ max_running: 1 }, { starts_per_second: 0.5 }].map((patch) =>
    updateLimit(make.platform, { id, patch }),
  );
  const held = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await waitFor(async () => (await database.query(held)).length === 2, { what: "both changes before the limit" });
  await holder.query("rollback");
  await holder.end();
  await Promise.all(both);
  expect(await listLimits(make.platform)).toMatchObject([{ max_running: 1, starts_per_second: 0.5 }]);
});

test("a default burst follows the rate, an explicit one stays", async () => {
  const { id } = await theLimit({ starts_per_second: 1000 });
  expect(await updateLimit(make.platform, { id, patch: { starts_per_second: 1 } })).toMatchObject({ burst: 1 });
  expect(await updateLimit(make.platform, { id, patch: { burst: 7 } })).toMatchObject({ starts_per_second: 1, burst: 7 });
  expect(await updateLimit(make.platform, { id, patch: { starts_per_second: 2 } })).toMatchObject({ burst: 7 });
});
