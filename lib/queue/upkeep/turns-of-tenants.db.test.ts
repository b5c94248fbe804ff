import { afterAll, expect, test } from "vitest";
import {
  cancelJob,
  enqueueJobs,
  expireJobs,
  promoteDueJobs,
  type TenantScope,
  workOffReleases,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();
const base = { definitionKey: definition.key };
const HOUR_MS = 3_600_000;
const soon = (ms = 0) => new Date(Date.now() + HOUR_MS + ms);
const many = (scope: TenantScope, count: number, fields: object) =>
  enqueueJobs(
    make.web,
    scope,
    Array.from({ length: count }, () => ({ ...base, ...fields })),
  );
const count = async (scope: TenantScope, condition: string) =>
  Number(
    (
      await database.query(`select count(*)::int as n from app.live_jobs where tenant_id = $1 and ${condition}`, [
        scope.tenantId,
      ])
    )[0]?.n,
  );

test("a tenant's job that came due behind the backlogs of two others is promoted with the first batch", async () => {
  const [one, two, victim] = [await make.tenant(), await make.tenant(), await make.tenant()];
  for (const scope of [one, two]) await many(scope, 500, { scheduledFor: soon() });
  await make.job(victim, { ...base, scheduledFor: soon(60_000) });
  await database.moveClock(2 * HOUR_MS);
  const { count: promoted } = await promoteDueJobs(make.scheduler, { limit: 100 });
  expect(await count(victim, "ready")).toBe(1);
  expect(promoted).toBeLessThanOrEqual(200);
  for (let more = promoted; more > 0; ) more = (await promoteDueJobs(make.scheduler, { limit: 100 })).count;
  expect([await count(one, "not ready"), await count(two, "not ready")]).toEqual([0, 0]);
  await database.moveClock(0);
});

test("a tenant's job that expired behind the backlogs of two others is ended with the first batch", async () => {
  const [one, two, victim] = [await make.tenant(), await make.tenant(), await make.tenant()];
  for (const scope of [one, two]) await many(scope, 300, { expiresAt: soon() });
  await make.job(victim, { ...base, expiresAt: soon(60_000) });
  await database.moveClock(2 * HOUR_MS);
  const { count: ended, left } = await expireJobs(make.scheduler, { limit: 100 });
  expect([await count(victim, "true"), left]).toEqual([0, []]);
  expect(ended).toBeLessThanOrEqual(200);
  for (let more = ended; more > 0; ) more = (await expireJobs(make.scheduler, { limit: 100 })).count;
  expect([await count(one, "true"), await count(two, "true")]).toEqual([0, 0]);
  await database.moveClock(0);
});

test.each([
  ["promoted", "scheduledFor", "not ready", promoteDueJobs],
  ["ended as expired", "expiresAt", "true", expireJobs],
] as const)("a due job is %s with the second batch when the first one serves five other tenants", async (...row) => {
  const [, field, waits, work] = row;
  const tenants: TenantScope[] = [];
  for (let n = 0; n < 7; n += 1) tenants.push(await make.tenant());
  // Tenants have their turns in the order of their ids.
  tenants.sort((a, b) => (a.tenantId < b.tenantId ? 1 : -1));
  const [victim, ...others] = tenants as [TenantScope, ...TenantScope[]];
  for (const scope of others) await many(scope, 150, { [field]: soon() });
  await make.job(victim, { ...base, [field]: soon(60_000) });
  await database.moveClock(2 * HOUR_MS);
  for (let batch = 0; batch < 2; batch += 1) await work(make.scheduler, { limit: 100 });
  expect(await count(victim, waits)).toBe(0);
  for (let more = 1; more > 0; ) more = (await work(make.scheduler, { limit: 100 })).count;
  for (const scope of others) expect(await count(scope, waits)).toBe(0);
  await database.moveClock(0);
});

test("tenants take turns in the backlog of releases, however many ranges one of them has", async () => {
  const [one, two, victim] = [await make.tenant(), await make.tenant(), await make.tenant()];
  const waiting = async (scope: TenantScope, children: number, parents: number) => {
    const ids = (await many(scope, parents, {})).map(({ jobId }) => jobId);
    const dependsOn = ids.map((jobId) => ({ jobId, type: "completion" as const }));
    for (let made = 0; made < children; made += 1000) await many(scope, 1000, { dependsOn, onParentFailure: "run" });
    return ids;
  };
  const parents = [
    ...(await waiting(one, 5000, 4)).map((id) => [one, id] as const),
    ...(await waiting(two, 5000, 4)).map((id) => [two, id] as const),
    ...(await waiting(victim, 3000, 1)).map((id) => [victim, id] as const),
  ];
  for (const [scope, id] of parents) await cancelJob(make.web, scope, id);
  expect(await count(victim, "state = 'blocked'")).toBeGreaterThan(0);
  for (let turn = 0; turn < 3; turn += 1) await workOffReleases(make.scheduler, { limit: 1000 });
  expect(await count(victim, "state = 'blocked'")).toBe(0);
  expect(await count(one, "state = 'blocked'")).toBeGreaterThan(0);
  for (let more = 1; more > 0; ) more = (await workOffReleases(make.scheduler, { limit: 1000 })).handled;
  expect(await count(one, "state = 'blocked'")).toBe(0);
});
