import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TenantTransaction } from "@/lib/db";
import { ormOver } from "@/lib/db/orm";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listDeliveries } from "./deliveries";
import { findDeliverySql } from "./webhooks.sql";

const DELIVERIES = 5000;
const database = await testDatabase();
const make = makeFactory(database);
const client = new pg.Client({ connectionString: database.urlFor("web") });
let tenantId = "";
let endpointId = "";
beforeAll(async () => {
  await client.connect();
  tenantId = (await make.tenant()).tenantId;
  const [endpoint] = await database.query<{ id: string }>(
    "insert into app.webhook_endpoints (tenant_id, url, secret) values ($1, 'https://example.com/', 'x') returning id",
    [tenantId],
  );
  endpointId = endpoint?.id ?? "";
  await database.query(
    `insert into app.webhook_deliveries (tenant_id, endpoint_id, job_id, attempt_no, message_id, type, url, status_code, request,
       response, duration_ms, started_at)
     select $1, $2, app.new_id(), 1, 'msg_' || n, 'order.paid', 'https://example.com/', 200, repeat('x', 500), 'ok', 1, now()
     from generate_series(1, ${DELIVERIES}) n`,
    [tenantId, endpointId],
  );
  await database.query("analyze app.webhook_deliveries");
});
afterAll(async () => {
  await client.end();
  await make.close();
});

/** Rows of deliveries that a statement reads and discards. */
async function readInVain(text: string, values: unknown[]): Promise<number> {
  await client.query("begin");
  await client.query("select set_config('app.current_tenant_id', $1, true)", [tenantId]);
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off, timing off, summary off, buffers off) ${text}`,
    values,
  );
  await client.query("rollback");
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain("webhook_deliveries");
  return [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0);
}

test("looking up whether a message was sent does not scan the endpoint's deliveries", async () => {
  const { id } = await make.job({ tenantId, actor: { kind: "system", id: null, userId: null } });
  expect(await readInVain(findDeliverySql.text, [tenantId, id, endpointId, "msg_none", "order.paid"])).toBeLessThan(10);
});

test("listing an endpoint's failed deliveries does not scan the successful ones", async () => {
  const sent: { text: string; values: unknown[] }[] = [];
  const orm = ormOver(async ({ text }, values) => {
    sent.push({ text, values });
    return { rows: [], rowCount: 0, command: "SELECT", oid: 0, fields: [] };
  });
  await listDeliveries({ orm, tenantId } as TenantTransaction, { endpointId, failed: true, limit: 50 });
  expect(sent).toHaveLength(2);
  for (const { text, values } of sent) expect(await readInVain(text, values)).toBeLessThan(10);
});
