import { describe, expect, test } from "vitest";
import {
  changeTrigger,
  deleteExpired,
  deleteTrigger,
  getTrigger,
  listFirings,
  listTriggers,
  previewTrigger,
  runTrigger,
} from "@/lib/queue/testing";
import { pointers, triggersFixture } from "./triggers.fixture";

const { database, factory, scope, other, make, change } = await triggersFixture();

describe("a manual run", () => {
  test("creates a job from the template with the current time, also for a disabled trigger", async () => {
    const { id } = await make({
      payload_template: { at: "{{schedule.at}}", from: "{{schedule.label}}" },
      is_enabled: false,
    });
    const { job, firing } = await runTrigger(factory.web, scope, { triggerId: id });
    expect(job).toMatchObject({ source: "manual", source_ref: id, payload: { from: "nightly" } });
    expect(firing).toMatchObject({ kind: "manual", outcome: "enqueued", job_id: job.id, job_status: "queued" });
    expect(await getTrigger(factory.web, scope, id)).toMatchObject({
      run_count: 0,
      recent_firings: [{ job_id: job.id }],
    });
  });

  test("accepts another payload, or the data of an event", async () => {
    const { id } = await make({
      trigger_type: "event",
      cron_expr: null,
      event_name: "a.b",
      definition_key: "strict",
      payload_template: { n: "{{event.n}}" },
    });
    const run = (request: { payload?: unknown; event?: unknown }) =>
      runTrigger(factory.web, scope, { triggerId: id, ...request });
    expect((await run({ payload: { n: 1 } })).job.payload).toEqual({ n: 1 });
    expect((await run({ event: { n: 2 } })).job.payload).toEqual({ n: 2 });
    expect(await pointers(run({}))).toEqual(["/payload_template/n"]);
    expect(await pointers(run({ payload: { n: "x" } }))).toEqual(["/payload/n"]);
    const { firings } =
      (await listFirings(factory.web, scope, { triggerId: id, filter: {}, page: { limit: 10 } })) ?? {};
    expect(firings).toHaveLength(2);
  });
});

test("a list shows the outcomes of the newest firings, and the missed instants", async () => {
  const { id } = await make({ label: "A Bar 100%" });
  await database.query(
    `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, outcome, reason, n, until)
     select $1, $2, 'schedule', app.now() - make_interval(mins => i), 'skipped', 'catch_up', case i when 1 then 5 else 1 end,
       case i when 1 then app.now() end from generate_series(1, 25) i`,
    [scope.tenantId, id],
  );
  const { job } = await runTrigger(factory.web, scope, { triggerId: id });
  const page = await listTriggers(factory.web, scope, { q: "bar 100%", trigger_type: "schedule" }, { limit: 10 });
  expect(page).toMatchObject({ total: 1, hasMore: false });
  const [row] = page.triggers;
  expect(row).toMatchObject({ id, missed_count: 29 });
  expect(row?.recent_firings).toHaveLength(20);
  expect(row?.recent_firings[0]).toMatchObject({ outcome: "enqueued", job_id: job.id, job_status: "queued" });
  const first = await listFirings(factory.web, scope, { triggerId: id, filter: {}, page: { limit: 20 } });
  const afterId = first?.firings.at(-1)?.id ?? "";
  const second = await listFirings(factory.web, scope, { triggerId: id, filter: {}, page: { limit: 20, afterId } });
  expect([first?.hasMore, second?.firings.length, second?.hasMore]).toEqual([true, 6, false]);
});

test("firings are kept for 90 days", async () => {
  const { id: triggerId } = await make();
  for (const days of [89, 91]) {
    await database.query(
      `insert into app.trigger_firings (id, tenant_id, trigger_id, kind, fire_at, outcome, reason)
       select app.id_floor(at), $1, $2, 'schedule', at, 'skipped', 'catch_up' from (select app.now() - make_interval(days => $3)) x (at)`,
      [scope.tenantId, triggerId, days],
    );
  }
  expect(await deleteExpired(factory.scheduler)).toBe(1);
  const left = await listFirings(factory.web, scope, { triggerId, filter: {}, page: { limit: 10 } });
  expect(left?.firings).toHaveLength(1);
});

test("deleted triggers are kept for 90 days and until their firings are pruned, others forever", async () => {
  const [gone, late, fired, stays] = [await make(), await make(), await make(), await make()];
  for (const { id: triggerId } of [gone, late, fired])
    await deleteTrigger(factory.web, scope, { triggerId, expected: null });
  for (const [{ id }, days] of [
    [gone, 91],
    [late, 89],
    [fired, 91],
  ] as const)
    await database.query(
      "update app.job_triggers set deleted_at = app.now() - make_interval(days => $2) where id = $1",
      [id, days],
    );
  await database.query(
    `insert into app.trigger_firings (tenant_id, trigger_id, kind, fire_at, event_id, outcome, reason)
     values ($1, $2, 'event', now(), app.new_id(), 'failed', 'payload')`,
    [scope.tenantId, fired.id],
  );
  expect(await deleteExpired(factory.scheduler)).toBe(1);
  const left = await database.query("select id from app.job_triggers where id = any ($1)", [
    [gone, late, fired, stays].map(({ id }) => id),
  ]);
  expect(left.map(({ id }) => id).sort()).toEqual([late.id, fired.id, stays.id].sort());
  await database.query("delete from app.trigger_firings where trigger_id = $1", [fired.id]);
  expect(await deleteExpired(factory.scheduler)).toBe(1);
});

test("another tenant's trigger is not found by any action", async () => {
  const { id: triggerId } = await make({}, other);
  const missing = { code: "not-found" };
  expect(await getTrigger(factory.web, scope, triggerId)).toBeNull();
  expect(await listFirings(factory.web, scope, { triggerId, filter: {}, page: { limit: 1 } })).toBeNull();
  await expect(change(triggerId, { label: "mine" })).rejects.toMatchObject(missing);
  await expect(deleteTrigger(factory.web, scope, { triggerId, expected: null })).rejects.toMatchObject(missing);
  await expect(runTrigger(factory.web, scope, { triggerId })).rejects.toMatchObject(missing);
  expect((await listTriggers(factory.web, other, {}, { limit: 10 })).triggers.map(({ id }) => id)).toEqual([triggerId]);
});

test("a preview renders the template for its first instant and lists its errors", async () => {
  const example = async (source: unknown, definitionKey?: string) => {
    const schedule = { cron_expr: "30 2 * * *", timezone: "Europe/Berlin" };
    const after = "2026-03-28T12:00:00Z";
    const template = { source, label: "Nightly", ...(definitionKey ? { definitionKey } : {}) };
    return (await previewTrigger(factory.web, scope, { schedule, after, count: 1, template })).example;
  };
  expect(await example({ text: "{{trigger.label}}, {{schedule.local}}" })).toEqual({
    payload: { text: "Nightly, 2026-03-29T03:00:00+02:00" },
    problems: [],
  });
  const [unknown, unfit] = [
    await example({ list: ["{{event.x}}"] }),
    await example({ n: "{{schedule.at}}" }, "strict"),
  ];
  expect(unknown).toMatchObject({ payload: null, problems: [{ pointer: "/list/0" }] });
  expect(unfit).toMatchObject({ problems: [{ pointer: "/n" }] });
});

test("SCHED-23 a suspended tenant cannot create, change, run or preview a trigger, and can delete one", async () => {
  const tenant = await factory.tenant("frozen");
  const { id: triggerId } = await make({}, tenant);
  await database.query("update app.tenants set status = 'suspended' where id = $1", [tenant.tenantId]);
  const refused = { code: "tenant-suspended" };
  await expect(make({}, tenant)).rejects.toMatchObject(refused);
  await expect(runTrigger(factory.web, tenant, { triggerId })).rejects.toMatchObject(refused);
  await expect(
    changeTrigger(factory.web, tenant, { triggerId, expected: null, patch: { label: "x" } }),
  ).rejects.toMatchObject(refused);
  await expect(previewTrigger(factory.web, tenant, { schedule: {}, count: 1 })).rejects.toMatchObject(refused);
  await deleteTrigger(factory.web, tenant, { triggerId, expected: null });
});
