import { readdirSync, readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { IS_LIMITED } from "../claim/claim-jobs.sql";
import { HOLDS_NOW } from "../pauses/pauses.sql";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("the claim's inlined limit check and app.is_limited agree for every lane, under limits of every scope", async () => {
  const definitions = [await make.definition(), await make.definition()];
  const tenants = [await make.tenant(), await make.tenant()];
  await database.query("insert into app.job_queues (name) values ('other') on conflict do nothing");
  for (const scope of tenants)
    for (const { key: definitionKey } of definitions)
      for (const queue of [undefined, "other"]) await make.job(scope, { definitionKey, ...(queue ? { queue } : {}) });
  const lanes = async () =>
    await database.query<{ written_out: boolean; called: boolean; lane: number }>(
      `select l.lane_no as lane, ${IS_LIMITED} as written_out,
         (select app.is_limited(n.queue_id, n.definition_id, n.tenant_id) from app.lanes n where n.lane_no = l.lane_no) as called
       from app.live_jobs l`,
    );
  expect(await lanes()).toHaveLength(8);
  const limits = [
    "select 'queue', id, null::uuid, null::uuid from app.job_queues where name = 'other'",
    `select 'definition', null::integer, '${definitions[0]?.id}'::uuid, null::uuid`,
    `select 'tenant_queue', id, null::uuid, '${tenants[0]?.tenantId}'::uuid from app.job_queues where name = 'default'`,
    `select 'tenant_definition', null::integer, '${definitions[1]?.id}'::uuid, '${tenants[1]?.tenantId}'::uuid`,
    `select 'tenant_definition', null::integer, '${definitions[0]?.id}'::uuid, null::uuid`,
  ];
  const seen = new Set<number>();
  for (const limit of limits) {
    await database.query("delete from app.concurrency_limits");
    await database.query(
      `insert into app.concurrency_limits (scope, queue_id, definition_id, tenant_id, max_running)
       select x.*, 1 from (${limit}) x`,
    );
    const found = await lanes();
    expect(found.map(({ written_out }) => written_out)).toEqual(found.map(({ called }) => called));
    const limited = found.filter(({ called }) => called).length;
    expect(limited).toBeGreaterThan(0);
    expect(limited).toBeLessThan(8);
    for (const { lane, called } of found) if (called) seen.add(lane);
  }
  expect(seen.size).toBe(8);
});

test("functions and statements check pauses with the same condition", () => {
  const folder = "drizzle/functions";
  const texts = readdirSync(folder).map((name) =>
    readFileSync(`${folder}/${name}`, "utf8").replaceAll("p.paused", "paused"),
  );
  const asked = texts.reduce((sum, text) => sum + (text.match(/paused_until is null/g) ?? []).length, 0);
  const alike = texts.reduce((sum, text) => sum + text.split(HOLDS_NOW.slice(1, -1)).length - 1, 0);
  expect([asked > 3, alike]).toEqual([true, asked]);
});
