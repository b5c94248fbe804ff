import { afterAll, afterEach, describe, expect, test } from "vitest";
import { statement } from "@/lib/db";
import type { TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { scheduleFixture } from "@/lib/testing/rows/schedules";

const database = await testDatabase();
const { query } = database;
const make = makeFactory(database);
const { dueTriggers } = scheduleFixture(database, make);
afterAll(() => make.close());
const nothingDue = () => query("update app.job_triggers set next_run_at = null, following_run_at = null");
afterEach(nothingDue);

const holdOldestSql = statement(
  "test_hold_oldest",
  `select x.id from unnest($1::uuid[]) t (tenant_id)
   cross join lateral (
     select d.id from app.job_triggers d where d.tenant_id = t.tenant_id order by d.next_run_at limit 1 for update) x`,
);
const tenants = (count: number) => Promise.all(Array.from({ length: count }, () => make.tenant()));
/** The number of triggers that have fired, per tenant. */
const firedOf = async (scopes: readonly TenantScope[]): Promise<number[]> => {
  const rows = await query<{ tenant_id: string; n: number }>(
    "select tenant_id, count(distinct trigger_id)::int as n from app.trigger_firings group by tenant_id",
  );
  const counts = new Map(rows.map(({ tenant_id, n }) => [tenant_id, n]));
  return scopes.map(({ tenantId }) => counts.get(tenantId) ?? 0);
};

describe("a tenant's due schedules wait for at most one turn of another tenant", () => {
  const GROWS = { a: "{{trigger.label}}".repeat(240) };
  test.each([
    ["that has many", 1000, { secondsAgo: 30 }],
    ["whose templates become large payloads", 150, { secondsAgo: 30, template: GROWS }],
    ["whose templates are large", 20, { secondsAgo: 30, template: { a: "x".repeat(200_000) } }],
    ["that catches up on many instants", 5, { secondsAgo: 1100, everyMs: 1000 }],
    ["that catches up on large payloads", 10, { secondsAgo: 60, everyMs: 1000, template: GROWS }],
  ])("%s", async (_name, count, due) => {
    const scopes = await tenants(3);
    // The busy tenant may be first or last in the order of tenants.
    for (const busy of scopes) {
      const { fire } = scheduleFixture(database, make);
      const others = scopes.filter((scope) => scope !== busy);
      const before = await firedOf(others);
      await dueTriggers(busy.tenantId, count, due);
      for (const { tenantId } of others) await dueTriggers(tenantId, 30, { secondsAgo: 0.5 });
      await fire();
      await fire();
      expect(await firedOf(others)).toEqual(before.map((n) => n + 30));
      await nothingDue();
    }
  });

  test("also if several tenants have more due than a turn can take", async () => {
    const scopes = await tenants(4);
    const { fire } = scheduleFixture(database, make);
    const [busy, ...others] = scopes;
    await dueTriggers(busy?.tenantId ?? "", 20, { secondsAgo: 60, everyMs: 1000, template: GROWS });
    for (const { tenantId } of others) await dueTriggers(tenantId, 100, { secondsAgo: 0.5 });
    // The busy tenant fills a turn alone, or ends a turn in which the others had their share.
    for (let turn = 0; turn < 5; turn += 1) await fire();
    expect(await firedOf(others)).toEqual([100, 100, 100]);
  });
});

test("with more tenants than fit into a turn, none fires twice before all have fired once", async () => {
  const scopes = await tenants(12);
  const { fire } = scheduleFixture(database, make);
  for (const [n, { tenantId }] of scopes.entries()) await dueTriggers(tenantId, 5, { secondsAgo: 60 - n });
  for (let turn = 1; turn <= 12; turn += 1) {
    expect((await fire(5)).triggers).toBe(5);
    const counts = await firedOf(scopes);
    expect(Math.max(...counts) - Math.min(...counts), `${turn}: ${counts}`).toBeLessThanOrEqual(1);
  }
  expect(await fire(5)).toMatchObject({ triggers: 0 });
});

test("the rest of a turn goes to tenants with more due schedules, each tenant's oldest first", async () => {
  const [busy, other] = [await make.tenant(), await make.tenant()];
  const { fire } = scheduleFixture(database, make);
  await dueTriggers(busy.tenantId, 200, { secondsAgo: 30 });
  await dueTriggers(other.tenantId, 1, { secondsAgo: 0.5 });
  expect(await fire()).toMatchObject({ triggers: 100 });
  expect(await firedOf([busy, other])).toEqual([99, 1]);
  const [row] = await query<{ is_in_order: boolean }>(
    `select max(last_run_at) < min(next_run_at) filter (where next_run_at <= app.now()) as is_in_order
     from app.job_triggers where tenant_id = $1`,
    [busy.tenantId],
  );
  expect(row?.is_in_order).toBe(true);
});

test("a locked trigger delays neither other tenants' triggers nor others of its tenant", async () => {
  const scopes = await tenants(4);
  const { fire } = scheduleFixture(database, make);
  for (const { tenantId } of scopes) await dueTriggers(tenantId, 3, { secondsAgo: 30 });
  await make.scheduler.transaction(async (tx) => {
    await tx.run(holdOldestSql, [scopes.slice(0, 3).map(({ tenantId }) => tenantId)]);
    for (let turn = 0; turn < 4; turn += 1) await fire(3);
    expect(await firedOf(scopes)).toEqual([2, 2, 2, 3]);
  });
  await fire(3);
  expect(await firedOf(scopes)).toEqual([3, 3, 3, 3]);
});
