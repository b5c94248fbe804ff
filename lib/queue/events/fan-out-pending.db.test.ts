import { afterAll, expect, test } from "vitest";
import {
  cancelJob,
  expireJobs,
  fanOutPending,
  listEvents,
  publishEvent,
  publishEvents,
  settleAttempts,
  type TenantScope,
  tenantsWithPendingEvents,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { longestTurn } from "@/lib/testing/measure/longest-turn";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type ListenerFields, listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();
const listens = (scope: TenantScope, eventName: string, fields: Partial<ListenerFields> = {}) =>
  listener(database, scope, {
    definitionId: definition.id,
    eventName,
    payloadTemplate: { event: "{{meta.id}}" },
    ...fields,
  });
const all = (scope: TenantScope) => listEvents(make.web, scope, { filter: {}, limit: 100 });
const names = async (scope: TenantScope) => (await all(scope)).events.map(({ name }) => name).sort();

test("a job's end publishes an event in its transaction, for tenants with a trigger on it only", async () => {
  const scope = await make.tenant();
  const deaf = await make.tenant();
  for (const name of ["job.succeeded", "job.dead_letter", "job.canceled", "job.expired", "job.failed"])
    await listens(scope, name, { condition: "false" });
  await listens(deaf, "job.succeeded", { condition: "false" }).then((id) =>
    database.query("update app.job_triggers set is_enabled = false where id = $1", [id]),
  );
  for (const tenant of [scope, deaf]) {
    await settleAttempts(make.worker, [succeeded(await make.runningJob(tenant), { added: 3 })]);
    await settleAttempts(make.worker, [dead(await make.runningJob(tenant, { correlationId: "c-1" }), "rate_limit")]);
    await cancelJob(make.web, tenant, (await make.job(tenant)).id);
    await make.job(tenant, { expiresAt: new Date(Date.now() + 120_000), scheduledFor: new Date(Date.now() + 60_000) });
    const parent = await make.runningJob(tenant);
    await make.job(tenant, { dependsOn: [{ jobId: parent.jobId }], onParentFailure: "fail" });
    await settleAttempts(make.worker, [dead(parent)]);
  }
  await database.moveClock(3_600_000);
  await expireJobs(make.scheduler, { limit: 10 });
  await database.moveClock(0);
  expect(await names(deaf)).toEqual([]);
  expect(await names(scope)).toEqual([
    "job.canceled",
    "job.dead_letter",
    "job.dead_letter",
    "job.expired",
    "job.failed",
    "job.succeeded",
  ]);
  expect(await tenantsWithPendingEvents(make.scheduler)).toEqual([scope.tenantId]);
  expect(await fanOutPending(make.web, scope.tenantId)).toEqual({ done: 6, failed: [] });
  expect(await tenantsWithPendingEvents(make.scheduler)).toEqual([]);
  const rows = await database.query<{ name: string; data: Record<string, unknown>; correlation_id: string }>(
    "select name, data, correlation_id, depth from app.events where tenant_id = $1 order by id limit 2",
    [scope.tenantId],
  );
  expect(rows).toMatchObject([
    {
      name: "job.succeeded",
      data: {
        status: "succeeded",
        result: { added: 3 },
        attempt_count: 1,
        run_no: 1,
        source: "manual",
        queue: "default",
      },
      correlation_id: rows[0]?.data.job_id,
      depth: 0,
    },
    { name: "job.dead_letter", data: { error_type: "rate_limit", error_text: "no" }, correlation_id: "c-1" },
  ]);
});

test("the database keeps the list of listened events exact when triggers are disabled, renamed or deleted", async () => {
  const scope = await make.tenant();
  const listened = async () =>
    (await database.query("select event_names from app.job_listeners where tenant_id = $1", [scope.tenantId]))[0]
      ?.event_names;
  const one = await listens(scope, "job.failed");
  const two = await listens(scope, "job.succeeded");
  const three = await listens(scope, "job.succeeded");
  expect(await listened()).toEqual(["job.failed", "job.succeeded"]);
  const set = (id: string, change: string) =>
    database.query(`update app.job_triggers set ${change} where id = $1`, [id]);
  await set(one, "event_name = 'thing.happened'");
  await set(two, "is_enabled = false");
  expect(await listened()).toEqual(["job.succeeded"]);
  await set(three, "deleted_at = app.now()");
  expect(await listened()).toEqual([]);
  await set(two, "is_enabled = true");
  expect(await listened()).toEqual(["job.succeeded"]);
});

test("TEMPLATE-08 a job whose end starts the same job again stops at the depth limit with reason loop", async () => {
  const scope = await make.tenant();
  await listens(scope, "job.succeeded", { payloadTemplate: { before: "{{event}}" } });
  await settleAttempts(make.worker, [succeeded(await make.runningJob(scope), { size: "x".repeat(1000) })]);
  let laps = 0;
  for (; laps < 20; laps += 1) {
    const { done } = await fanOutPending(make.web, scope.tenantId, { maxDepth: 3 });
    const claimed = done === 0 ? [] : await make.claim("loop-worker");
    if (claimed.length === 0) break;
    await settleAttempts(
      make.worker,
      claimed.map((job) => succeeded(job, job.payload)),
    );
  }
  expect(laps).toBe(3);
  const { events } = await all(scope);
  expect(events.map(({ depth, reason, started_count: started }) => ({ depth, reason, started }))).toEqual([
    { depth: 3, reason: "loop", started_count: 0 },
    { depth: 2, reason: null, started_count: 1 },
    { depth: 1, reason: null, started_count: 1 },
    { depth: 0, reason: null, started_count: 1 },
  ]);
  expect(new Set(events.map(({ correlation_id: correlationId }) => correlationId)).size).toBe(1);
  const [size] = await database.query(
    "select max(octet_length(payload::text)) as n from app.jobs where tenant_id = $1",
    [scope.tenantId],
  );
  expect(Number(size?.n)).toBeLessThan(256 * 1024);
});

test("an event that cannot be processed delays no other and is given up after its last try", async () => {
  const scope = await make.tenant();
  await listens(scope, "job.succeeded");
  await settleAttempts(make.worker, [succeeded(await make.runningJob(scope))]);
  await settleAttempts(make.worker, [succeeded(await make.runningJob(scope))]);
  const [bad] = await database.query("select min(id::text) as id from app.events where tenant_id = $1", [
    scope.tenantId,
  ]);
  await database.query(
    `create function public.fail_on() returns trigger language plpgsql as $$
     begin if new.event_id = '${bad?.id}' then raise exception 'no'; end if; return new; end $$`,
  );
  await database.query(
    "create trigger fail_on before insert on app.trigger_firings for each row execute function public.fail_on()",
  );
  expect(await fanOutPending(make.web, scope.tenantId)).toMatchObject({ done: 1, failed: [{ eventId: bad?.id }] });
  for (let tries = 1; tries < 5; tries += 1)
    expect(await fanOutPending(make.web, scope.tenantId)).toMatchObject({ done: 0, failed: [{}] });
  expect(await fanOutPending(make.web, scope.tenantId)).toEqual({ done: 0, failed: [] });
  const { events } = await all(scope);
  expect(events.map(({ status, reason, started_count: started }) => [status, reason, started])).toEqual([
    ["done", null, 1],
    ["done", "failed", 0],
  ]);
  await database.query("drop trigger fail_on on app.trigger_firings");
});

test("concurrent schedulers process an event once", async () => {
  const scope = await make.tenant();
  await listens(scope, "job.succeeded");
  for (let i = 0; i < 5; i += 1) await settleAttempts(make.worker, [succeeded(await make.runningJob(scope))]);
  await Promise.all(Array.from({ length: 4 }, () => fanOutPending(make.web, scope.tenantId)));
  const [jobs] = await database.query(
    "select count(*)::int as n, count(distinct source_ref)::int as events from app.jobs where tenant_id = $1 and source = 'event'",
    [scope.tenantId],
  );
  expect(jobs).toEqual({ n: 5, events: 5 });
});

test("SCHED-23 events of a suspended tenant start nothing, not even later", async () => {
  const scope = await make.tenant();
  await listens(scope, "job.succeeded");
  const running = await make.runningJob(scope);
  const suspend = (status: string) =>
    database.query("update app.tenants set status = $2 where id = $1", [scope.tenantId, status]);
  await suspend("suspended");
  await settleAttempts(make.worker, [succeeded(running)]);
  await fanOutPending(make.web, scope.tenantId);
  await listens(scope, "thing.happened");
  await expect(publishEvent(make.web, scope, { name: "thing.happened" })).rejects.toMatchObject({
    code: "tenant-suspended",
  });
  await suspend("active");
  expect(await fanOutPending(make.web, scope.tenantId)).toEqual({ done: 0, failed: [] });
  expect((await all(scope)).events).toMatchObject([{ status: "done", reason: "suspended", started_count: 0 }]);
});

test("many events with very many triggers are evaluated in parts, whether or not one matches", async () => {
  const scope = await make.tenant();
  await database.query(
    `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template, condition,
       overlap_policy)
     select $1, 'x', 'event', $2, 'crowded', '{}', 'false', 'allow' from generate_series(1, 3000)`,
    [scope.tenantId, definition.id],
  );
  const published = await publishEvents(
    make.web,
    scope,
    Array.from({ length: 60 }, () => ({ name: "crowded", data: {} })),
  );
  const done = published.filter(({ status }) => status === "done").length;
  expect([done, published.length]).toEqual([13, 60]);
  // The scheduler's parts also end when their processor time is used up.
  const parts: number[] = [];
  for (let left = 47; left > 0; left -= parts.at(-1) ?? 0) {
    parts.push((await fanOutPending(make.web, scope.tenantId)).done);
    expect(parts.at(-1)).toBeGreaterThan(0);
  }
  expect(parts.reduce((sum, part) => sum + part, 0)).toBe(47);
});

test("an event with heavy conditions is left to the scheduler and does not block the event loop", async () => {
  const scope = await make.tenant();
  const condition = `${Array.from({ length: 8 }, () => "event.a == event.b").join(" && ")} && event.a == 0`;
  await database.query(
    `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template, condition,
       overlap_policy)
     select $1, 'x', 'event', $2, 'heavy', '{}', $3, 'allow' from generate_series(1, 60)`,
    [scope.tenantId, definition.id, condition],
  );
  const object = Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`key ${n}`, n]));
  const heavy = { name: "heavy", data: { a: object, b: object } };
  const published = await longestTurn(() => publishEvents(make.web, scope, [{ name: "light" }, heavy]));
  expect(published.result.map(({ status }) => status)).toEqual(["done", "pending"]);
  expect(published.totalMs).toBeLessThan(500);
  const later = await longestTurn(() => fanOutPending(make.web, scope.tenantId));
  expect(later.result).toEqual({ done: 1, failed: [] });
  expect(later.longestMs).toBeLessThan(later.totalMs / 4);
});

test("the texts of large triggers are read once, and compiling them yields the event loop", async () => {
  const scope = await make.tenant();
  const payloadTemplate = Object.fromEntries(Array.from({ length: 9900 }, (_, n) => [`k${n}`, "x".repeat(12)]));
  for (let n = 0; n < 16; n += 1) await listens(scope, "large", { condition: "event.a == 1", payloadTemplate });
  const publish = () => longestTurn(() => publishEvents(make.web, scope, [{ name: "large", data: {} }]));
  const [first, second] = [await publish(), await publish()];
  expect(first.result[0]).toMatchObject({ status: "done", considered_count: 16, matched_count: 0 });
  expect(first.longestMs).toBeLessThan(Math.max(100, first.totalMs / 2));
  expect(second.totalMs).toBeLessThan(first.totalMs / 4);
});
