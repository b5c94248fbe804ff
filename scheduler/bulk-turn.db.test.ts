import { expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { bulkFixture } from "@/lib/queue/actions/bulk-actions.fixture";
import { acceptBulkAction, getBulkAction, type TenantScope } from "@/lib/queue/testing";
import { waitFor } from "@/lib/testing/processes";
import { whenDone } from "@/lib/testing/when-done";
import { bulkTurn } from "./bulk-turn";
import { eventsTurn, WEB_POOL } from "./loops";
import { turnsFixture } from "./turns.fixture";

const { database, make, surroundings, pendingEvent, statusOf } = await turnsFixture();
const { member, many, stateCounts } = await bulkFixture(database, make);

/** Makes pausing each job of the tenant take this long. */
async function slowDown({ tenantId }: TenantScope, ms: number): Promise<void> {
  await database.query(`create or replace function app.test_slow() returns trigger language plpgsql as $$
    begin if new.tenant_id = '${tenantId}' then perform pg_sleep(${ms} / 1000.0); end if; return new; end $$`);
  await database.query(
    "create or replace trigger test_slow before update on app.live_jobs for each row execute function app.test_slow()",
  );
}

test("a slow action continues in smaller chunks, and another tenant's action has its turns between them", async () => {
  const [slow, quick] = [await member(), await member()];
  await many(slow.scope, 400);
  await many(quick.scope, 1);
  await slowDown(slow.scope, 15);
  const request = { action: "pause", target: { filter: {} } } as const;
  const { id } = await acceptBulkAction(make.web, slow.scope, request);
  const { id: other } = await acceptBulkAction(make.web, quick.scope, request);
  const turn = bulkTurn();
  expect([await turn(surroundings), await turn(surroundings)]).toEqual([{ again: true }, { again: true }]);
  expect(await getBulkAction(make.web, quick.scope, other)).toMatchObject({ status: "done", done: 1 });
  await slowDown(slow.scope, 0);
  await turn(surroundings);
  expect(await getBulkAction(make.web, slow.scope, id)).toMatchObject({ status: "running", done: 100 });
  while ((await turn(surroundings)).again);
  expect(await getBulkAction(make.web, slow.scope, id)).toMatchObject({ status: "done", done: 400, skipped: 0 });
  expect(await stateCounts(slow.scope)).toEqual([{ state: "paused", n: 400 }]);
});

test("a tenant waits until another tenant's bulk actions took as much time as its own", async () => {
  const [slow, quick] = [await member(), await member()];
  await many(slow.scope, 100);
  await many(quick.scope, 1);
  await slowDown(slow.scope, 15);
  const accept = ({ scope }: typeof slow, action: "pause" | "resume") =>
    acceptBulkAction(make.web, scope, { action, target: { filter: {} } });
  await accept(slow, "pause");
  const { id: second } = await accept(slow, "resume");
  const actions = [await accept(quick, "pause"), await accept(quick, "resume"), await accept(quick, "pause")];
  const turn = bulkTurn();
  for (let n = 0; n < 4; n += 1) await turn(surroundings);
  for (const { id } of actions)
    expect(await getBulkAction(make.web, quick.scope, id)).toMatchObject({ status: "done", done: 1 });
  expect(await getBulkAction(make.web, slow.scope, second)).toMatchObject({ status: "queued" });
});

test("a bulk action that keeps its connection does not delay events", async () => {
  const url = database.urlFor("web");
  const web = openDatabase({ prepare: true, url, role: "web", max: WEB_POOL, applicationName: "test" });
  whenDone(() => web.close());
  const [slow, other] = [await member(), await member()];
  await many(slow.scope, 1000);
  await slowDown(slow.scope, 15);
  await acceptBulkAction(make.web, slow.scope, { action: "pause", target: { filter: {} } });
  await pendingEvent(other.scope.tenantId);
  let isOver = false;
  const chunk = bulkTurn()({ ...surroundings, web }).finally(() => {
    isOver = true;
  });
  const sleeping = "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
  await waitFor(async () => (await database.query(sleeping)).length > 0, { what: "the chunk's slow statement" });
  await eventsTurn()({ ...surroundings, web });
  expect([isOver, await statusOf(other.scope.tenantId)]).toMatchObject([false, [{ status: "done" }]]);
  await chunk;
});
