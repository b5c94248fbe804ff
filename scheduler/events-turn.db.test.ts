import { expect, test } from "vitest";
import { type Database, statement } from "@/lib/db";
import { eventsTurn } from "./loops";
import { turnsFixture } from "./turns.fixture";

const { database, make, surroundings, pendingEvent, statusOf } = await turnsFixture();

const holdSql = statement(
  "test_hold_triggers",
  "select id from app.job_triggers where tenant_id = $1 for no key update",
);

test("a tenant with locked triggers delays no other tenant's events, and loses none of its own", async () => {
  const definition = await make.definition();
  const tenants = [await make.tenant(), await make.tenant(), await make.tenant()]
    .map(({ tenantId }) => tenantId)
    .sort();
  for (const tenantId of tenants) {
    await database.query(
      `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template,
         overlap_policy, max_runs) values ($1, 'x', 'event', $2, 'thing.happened', '{}', 'allow', 5)`,
      [tenantId, definition.id],
    );
    await pendingEvent(tenantId);
  }
  const held = String(tenants[0]);
  let release = (): void => undefined;
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  const turn = () => eventsTurn()(surroundings);
  let isHeld = (): void => undefined;
  const whenHeld = new Promise<void>((resolve) => {
    isHeld = resolve;
  });
  const holder = make.scheduler.transaction(async (tx) => {
    await tx.run(holdSql, [held]);
    isHeld();
    await until;
  });
  await Promise.race([whenHeld, holder]);
  await turn();
  for (const tenantId of tenants.slice(1))
    expect(await statusOf(tenantId)).toMatchObject([{ status: "done", reason: null }]);
  expect(await statusOf(held)).toMatchObject([{ status: "pending", tries: 0 }]);
  release();
  await holder.catch(() => undefined);
  await turn();
  expect(await statusOf(held)).toMatchObject([{ status: "done", reason: null }]);
});

test("tenants take turns: those that always have new events do not delay the others", async () => {
  const tenants = [await make.tenant(), await make.tenant(), await make.tenant()]
    .map(({ tenantId }) => tenantId)
    .sort();
  for (const tenantId of tenants) await pendingEvent(tenantId);
  const turn = eventsTurn({ tenants: 2 });
  await turn(surroundings);
  for (const tenantId of tenants.slice(0, 2)) await pendingEvent(tenantId);
  await turn(surroundings);
  expect(await statusOf(String(tenants[2]))).toMatchObject([{ status: "done" }]);
  await turn(surroundings);
  for (const tenantId of tenants.slice(0, 2))
    expect(await statusOf(tenantId)).toMatchObject([{ status: "done" }, { status: "done" }]);
});

test("a tenant with many bounded triggers delays another tenant's event by one transaction", async () => {
  const definition = await make.definition();
  const [busy = "", quiet = ""] = [await make.tenant(), await make.tenant()].map(({ tenantId }) => tenantId).sort();
  const triggers = (tenantId: string, count: number) =>
    database.query(
      `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template,
         overlap_policy, max_runs)
       select $1, 'x', 'event', $2, 'thing.happened', '{"event": "{{meta.id}}"}', 'allow', 1000000 from generate_series(1, $3)`,
      [tenantId, definition.id, count],
    );
  await triggers(busy, 200);
  await triggers(quiet, 1);
  for (let n = 0; n < 8; n += 1) await pendingEvent(busy);
  await pendingEvent(quiet);
  const statements: number[] = [];
  const web: Database = {
    ...make.web,
    transaction: (work) =>
      make.web.transaction((tx) => {
        const at = statements.push(0) - 1;
        const count = (by: number) => {
          statements[at] = (statements[at] ?? 0) + by;
        };
        return work({
          ...tx,
          run: (statement, values) => {
            count(1);
            return tx.run(statement, values);
          },
          savepoint: (inside) => {
            count(2);
            return tx.savepoint(inside);
          },
        });
      }),
  };
  const firings = async (tenantId: string) =>
    (
      await database.query<{ n: number }>("select count(*)::int as n from app.trigger_firings where tenant_id = $1", [
        tenantId,
      ])
    )[0]?.n;
  const turn = eventsTurn();
  await turn({ ...surroundings, web });
  expect(await firings(quiet)).toBe(1);
  const first = (await firings(busy)) ?? 0;
  expect(first).toBeGreaterThanOrEqual(200);
  expect(first).toBeLessThanOrEqual(500);
  expect(statements).toHaveLength(2);
  // The texts of 200 triggers are read in 13 statements.
  expect(statements[0]).toBeLessThan(40);
  for (let turns = 0; turns < 8 && (await turn({ ...surroundings, web })).again; turns += 1);
  expect(await firings(busy)).toBe(1600);
});
