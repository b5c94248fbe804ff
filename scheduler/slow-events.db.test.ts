import pg from "pg";
import { expect, test } from "vitest";
import { isUnavailable } from "@/lib/db";
import { fanOutPending, SYSTEM } from "@/lib/queue/testing";
import { listener } from "@/lib/testing/rows/listener";
import { eventsTurn } from "./loops";
import { turnsFixture } from "./turns.fixture";

const { database, make, surroundings, pendingEvent, statusOf, openWeb } = await turnsFixture();

test("of many tenants with locked triggers each delays the others by half a second", async () => {
  const definition = await make.definition();
  const tenants = await Promise.all(Array.from({ length: 4 }, () => make.tenant()));
  const ids = tenants.map(({ tenantId }) => tenantId).sort();
  for (const tenantId of ids) {
    await listener(
      database,
      { tenantId, actor: SYSTEM },
      { definitionId: definition.id, payloadTemplate: {}, maxRuns: 5 },
    );
    await pendingEvent(tenantId);
  }
  const holder = new pg.Client({ connectionString: database.adminUrl });
  await holder.connect();
  try {
    await holder.query("begin");
    await holder.query("select 1 from app.job_triggers where tenant_id = any ($1) for update", [ids.slice(0, 3)]);
    const began = performance.now();
    await eventsTurn()(surroundings);
    expect(performance.now() - began).toBeLessThan(3 * 500 * 5);
    expect(await statusOf(String(ids[3]))).toMatchObject([{ status: "done" }]);
  } finally {
    await holder.end();
  }
  await eventsTurn()(surroundings);
  expect(await statusOf(String(ids[0]))).toMatchObject([{ status: "done" }]);
});

/** Sets, for new connections, how long one may be idle in a transaction. */
async function endIdleTransactions(after: "= '50ms'" | "to default"): Promise<void> {
  await database.query(
    `alter role leasehold_web in database ${database.name} set idle_in_transaction_session_timeout ${after}`,
  );
}

/** Has PostgreSQL end connections that are idle in a transaction, and publishes an event that takes longer to match. */
async function endsItsTransaction(tenantId: string): Promise<void> {
  await endIdleTransactions("= '50ms'");
  const definition = await make.definition();
  const condition = Array.from({ length: 16 }, (_, n) => `"${n}" in event.list`).join(" || ");
  await database.query(
    `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template, condition,
       overlap_policy)
     select $1, 'x', 'event', $2, 'slow', '{}', $3, 'allow' from generate_series(1, 200)`,
    [tenantId, definition.id, condition],
  );
  await database.query(
    `insert into app.events (tenant_id, name, data, source, correlation_id, actor_kind, status)
     select $1, 'slow', jsonb_build_object('list', jsonb_agg(n || 'x')), 'app', 'c', 'system', 'pending'
     from generate_series(1, 9000) n`,
    [tenantId],
  );
}

/** The pool may hand out a connection that PostgreSQL has just ended. That fails at once, and counts as no try. */
async function onLiveConnection<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 20; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || left === 0) throw error;
    }
  }
}

test("an event whose transaction exceeds PostgreSQL's timeout is given up after five tries", async () => {
  const { tenantId } = await make.tenant();
  await endsItsTransaction(tenantId);
  const web = openWeb();
  for (let tries = 1; tries <= 5; tries += 1) {
    const { done, failed } = await onLiveConnection(() => fanOutPending(web, tenantId, { longMs: 20 }));
    expect([done, failed.length]).toEqual([0, 1]);
    const status = tries < 5 ? { status: "pending", tries } : { status: "done", reason: "failed" };
    expect(await statusOf(tenantId)).toMatchObject([status]);
  }
});

test("a tenant whose events end the turn does not keep the tenants after it from theirs", async () => {
  const tenants = [await make.tenant(), await make.tenant()].map(({ tenantId }) => tenantId).sort();
  const [slow = "", behind = ""] = tenants;
  await endsItsTransaction(slow);
  await pendingEvent(behind);
  const turn = eventsTurn();
  const web = openWeb();
  // Under load PostgreSQL may end the other tenants' transactions as well, so more than two turns may pass.
  for (let turns = 0; turns < 10; turns += 1) await turn({ ...surroundings, web }).catch(() => undefined);
  expect(await statusOf(behind)).toMatchObject([{ status: "done" }]);
  expect(await statusOf(slow)).toMatchObject([{ status: "pending" }]);
});
