import { afterAll, expect, test } from "vitest";
import { withTenant } from "@/lib/db";
import { getEvent, getJob, listEvents, publishEvent, publishEvents, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type ListenerFields, listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition({
  arg_schema: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: true },
});
const listens = (scope: TenantScope, fields: Partial<ListenerFields> = {}) =>
  listener(database, scope, { definitionId: definition.id, ...fields });
const shown = async (scope: TenantScope, id: string) => {
  const event = await getEvent(make.web, scope, id);
  if (!event) throw new Error("the event is not there");
  return event;
};

test("an event starts a job for each matching trigger, with its correlation id, and returns the counts", async () => {
  const scope = await make.tenant();
  const other = await make.tenant();
  await listens(other, { payloadTemplate: { foreign: true } });
  const plain = await listens(scope, { payloadTemplate: { n: "{{event.n}}", from: "{{meta.name}}" }, priority: 20 });
  const picky = await listens(scope, { condition: "event.n > 5 && has(event.path)", label: "picky" });
  await listens(scope, { eventName: "another.thing" });
  const published = await publishEvent(make.web, scope, { name: "thing.happened", data: { n: 3 } });
  expect(published).toMatchObject({
    duplicate: false,
    status: "done",
    considered: 2,
    matched: 1,
    started: 1,
    reason: null,
  });
  const event = await shown(scope, published.id);
  expect(event).toMatchObject({ source: "app", depth: 0, correlation_id: published.id, data: { n: 3 } });
  expect(event.firings).toMatchObject([
    { trigger_id: plain, outcome: "enqueued", job_status: "queued", definition_key: definition.key },
  ]);
  expect(event.misses).toEqual([
    { trigger_id: picky, trigger_label: "picky", reason: "condition", part: "event.n > 5", detail: null },
  ]);
  const job = await getJob(make.web, scope, event.firings[0]?.job_id ?? "");
  expect(job).toMatchObject({
    payload: { n: 3, from: "thing.happened" },
    source: "event",
    source_ref: published.id,
    correlation_id: published.id,
    priority: 20,
  });
  const [trigger] = await database.query("select run_count::int, last_run_at from app.job_triggers where id = $1", [
    plain,
  ]);
  expect(trigger).toEqual({ run_count: 1, last_run_at: expect.any(Date) });
  expect(await getEvent(make.web, other, published.id)).toBeNull();
  expect(await listEvents(make.web, other, { filter: {}, limit: 10 })).toEqual({ events: [], hasMore: false });
});

test("an event that starts nothing has a reason: no trigger, or no matching condition", async () => {
  const scope = await make.tenant();
  expect(await publishEvent(make.web, scope, { name: "thing.happened" })).toMatchObject({ reason: "no_trigger" });
  await listens(scope, { condition: "event.n == 1" });
  await listens(scope, { expiresAt: "2020-01-01T00:00:00Z" });
  const { id, ...rest } = await publishEvent(make.web, scope, { name: "thing.happened" });
  expect(rest).toMatchObject({ considered: 2, matched: 0, started: 0, reason: "no_match" });
  expect((await shown(scope, id)).misses).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ reason: "condition", part: "event.n == 1", detail: "No such key: n" }),
      expect.objectContaining({ reason: "expired", part: null }),
    ]),
  );
});

test("a payload that cannot be rendered fails its firing with a pointer, and no other firing", async () => {
  const scope = await make.tenant();
  const missing = await listens(scope, { payloadTemplate: { a: ["{{event.q}}"] } });
  const misfit = await listens(scope, { payloadTemplate: { n: "{{event.text}}" } });
  const lost = await listens(scope, { dedupeKeyTemplate: '{{event.none | default: ""}}' });
  const fine = await listens(scope, { payloadTemplate: { n: "{{event.n}}" } });
  const { id, ...rest } = await publishEvent(make.web, scope, { name: "thing.happened", data: { n: 1, text: "x" } });
  expect(rest).toMatchObject({ matched: 4, started: 1, reason: null });
  const { firings } = await shown(scope, id);
  expect(new Map(firings.map(({ trigger_id: triggerId, ...firing }) => [triggerId, firing]))).toMatchObject(
    new Map([
      [missing, { outcome: "failed", reason: "template", detail: "/a/0 there is no value at event.q", jobId: null }],
      [misfit, { outcome: "failed", reason: "payload", detail: expect.stringContaining("/payload/n ") }],
      [lost, { outcome: "failed", reason: "dedupe_key" }],
      [fine, { outcome: "enqueued", reason: null }],
    ]),
  );
});

test("an inactive definition or queue fails only its own firings", async () => {
  const scope = await make.tenant();
  const off = await make.definition({ is_active: false });
  const inactive = await listens(scope, { definitionId: off.id });
  const noQueue = await listens(scope, { queue: "default" });
  const fine = await listens(scope, { payloadTemplate: { n: 2 } });
  await database.query("insert into app.job_queues (name, is_active) values ('closed', false) on conflict do nothing");
  await database.query("update app.job_triggers set queue = 'closed' where id = $1", [noQueue]);
  const { id } = await publishEvent(make.web, scope, { name: "thing.happened" });
  const { firings } = await shown(scope, id);
  expect(
    new Map(firings.map(({ trigger_id: triggerId, outcome, reason }) => [triggerId, { outcome, reason }])),
  ).toEqual(
    new Map([
      [inactive, { outcome: "failed", reason: "definition-inactive" }],
      [noQueue, { outcome: "failed", reason: "queue-unknown" }],
      [fine, { outcome: "enqueued", reason: null }],
    ]),
  );
});

test("a trigger and an equal payload create one job within the window; a dedupe key template overrides the comparison", async () => {
  const scope = await make.tenant();
  await listens(scope, { payloadTemplate: { n: "{{event.n}}" } });
  const outcomes = async (data: object) => {
    const { id } = await publishEvent(make.web, scope, { name: "thing.happened", data });
    return (await shown(scope, id)).firings.map(({ outcome }) => outcome).sort();
  };
  expect(await outcomes({ n: 1 })).toEqual(["enqueued"]);
  expect(await outcomes({ n: 1, more: true })).toEqual(["deduplicated"]);
  expect(await outcomes({ n: 2 })).toEqual(["enqueued"]);
  await listens(scope, { payloadTemplate: { n: "{{event.n}}" }, dedupeKeyTemplate: "k:{{event.k}}" });
  expect(await outcomes({ n: 3, k: "a" })).toEqual(["enqueued", "enqueued"]);
  expect(await outcomes({ n: 4, k: "a" })).toEqual(["deduplicated", "enqueued"]);
  await listens(scope, { payloadTemplate: { same: true }, dedupeWindowSeconds: 0 });
  expect(await outcomes({ n: 4, k: "b" })).toEqual(["deduplicated", "enqueued", "enqueued"]);
  expect(await outcomes({ n: 4, k: "b" })).toEqual(["deduplicated", "deduplicated", "enqueued"]);
});

test("max_runs and the overlap policy hold within a batch and across publishers", async () => {
  const scope = await make.tenant();
  const twice = await listens(scope, { maxRuns: 2, payloadTemplate: { a: "{{event.n}}" }, label: "twice" });
  const alone = await listens(scope, { overlapPolicy: "skip", payloadTemplate: { b: "{{event.n}}" }, label: "alone" });
  const next = await listens(scope, {
    overlapPolicy: "queue_one",
    payloadTemplate: { c: "{{event.n}}" },
    label: "next",
  });
  const events = (from: number) => [0, 1, 2].map((i) => ({ name: "thing.happened", data: { n: from + i } }));
  await Promise.all([publishEvents(make.web, scope, events(0)), publishEvents(make.web, scope, events(10))]);
  const count = await database.query<{ label: string; outcome: string; reason: string | null; n: number }>(
    `select t.label, f.outcome, f.reason, count(*)::int as n from app.trigger_firings f
     join app.job_triggers t on t.id = f.trigger_id where f.tenant_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
    [scope.tenantId],
  );
  expect(count).toEqual([
    { label: "alone", outcome: "enqueued", reason: null, n: 1 },
    { label: "alone", outcome: "skipped", reason: "overlap", n: 5 },
    { label: "next", outcome: "enqueued", reason: null, n: 2 },
    { label: "next", outcome: "skipped", reason: "overlap", n: 4 },
    { label: "twice", outcome: "enqueued", reason: null, n: 2 },
    // The second publisher no longer finds the trigger.
    { label: "twice", outcome: "skipped", reason: "max_runs", n: 1 },
  ]);
  const states = await database.query(
    `select l.state from app.live_jobs l join app.trigger_firings f on f.job_id = l.job_id where f.trigger_id = $1 order by 1`,
    [next],
  );
  expect(states).toEqual([{ state: "blocked" }, { state: "queued" }]);
  const [over] = await database.query("select status, status_reason from app.job_triggers where id = $1", [twice]);
  expect(over).toEqual({ status: "finished", status_reason: "max_runs" });
  expect(alone).not.toBe(next);
});

test("a producer id is one event, also for twenty concurrent callers", async () => {
  const scope = await make.tenant();
  const other = await make.tenant();
  await listens(scope, { payloadTemplate: { n: "{{event.n}}" }, dedupeWindowSeconds: 0 });
  const publish = (n: number) =>
    publishEvent(make.web, scope, { name: "thing.happened", producerId: "order-7", data: { n } });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => publish(n)));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  expect(answers.every(({ status, started_count: started }) => status === "done" && started === 1)).toBe(true);
  const [jobs] = await database.query("select count(*)::int as n from app.jobs where tenant_id = $1", [scope.tenantId]);
  expect(jobs).toEqual({ n: 1 });
  const elsewhere = await publishEvent(make.web, other, { name: "thing.happened", producerId: "order-7" });
  expect(elsewhere).toMatchObject({ duplicate: false });
  const batch = await publishEvents(make.web, scope, [
    { name: "a", producerId: "new" },
    { name: "b", producerId: "new" },
    { name: "c", producerId: "order-7" },
  ]);
  expect(batch.map(({ name, duplicate }) => [name, duplicate])).toEqual([
    ["a", false],
    ["a", true],
    ["thing.happened", true],
  ]);
});

test("event, firings and jobs are stored in one transaction or not at all", async () => {
  const scope = await make.tenant();
  await listens(scope);
  const broken = withTenant(make.web, scope.tenantId, async (tx) => {
    await publishEvent(tx, scope, { name: "thing.happened", producerId: "p" });
    throw new Error("the process died here");
  });
  await expect(broken).rejects.toThrow("died");
  for (const table of ["events", "trigger_firings", "jobs", "live_jobs", "dedupe_keys"]) {
    const rows = await database.query(`select 1 from app.${table} where tenant_id = $1`, [scope.tenantId]);
    expect(rows, table).toEqual([]);
  }
  expect(await publishEvent(make.web, scope, { name: "thing.happened", producerId: "p" })).toMatchObject({
    duplicate: false,
    started: 1,
  });
});

test("TEMPLATE-08 an event at the depth limit starts nothing and has the reason loop", async () => {
  const scope = await make.tenant();
  const triggerId = await listens(scope, { payloadTemplate: { all: "{{event}}" } });
  const at = (depth: number) => publishEvent(make.web, scope, { name: "thing.happened", data: { depth }, depth });
  expect(await at(7)).toMatchObject({ started: 1, reason: null });
  const { id, ...rest } = await at(8);
  expect(rest).toMatchObject({ matched: 1, started: 0, reason: "loop" });
  expect((await shown(scope, id)).firings).toMatchObject([{ trigger_id: triggerId, outcome: "skipped", reason: "loop" }]);
  const [job] = await database.query("select chain_depth from app.jobs where tenant_id = $1", [scope.tenantId]);
  expect(job).toEqual({ chain_depth: 8 });
});

test.each([
  [{ name: "" }, "invalid-value", "/name"],
  [{ name: "a b" }, "invalid-value", "/name"],
  [{ name: "a", data: [1] }, "invalid-value", "/data"],
  [{ name: "a", data: { x: "\u0000" } }, "payload-invalid", "/data/x"],
  [{ name: "a", data: { x: "y".repeat(300_000) } }, "payload-too-large", "/data"],
  [{ name: "a", producerId: "" }, "invalid-value", "/producer_id"],
  [{ name: "a", correlationId: "x\ud800" }, "invalid-value", "/correlation_id"],
])("an event that cannot be stored exactly is refused with a pointer", async (event, code, pointer) => {
  const scope = await make.tenant();
  await expect(publishEvents(make.web, scope, [{ name: "fine" }, event])).rejects.toMatchObject({
    code,
    problems: [{ pointer: `/events/1${pointer}` }],
  });
  expect(await listEvents(make.web, scope, { filter: {}, limit: 1 })).toEqual({ events: [], hasMore: false });
});

test("the list has filters for name, prefix, time, correlation and cause, newest first, in pages", async () => {
  const scope = await make.tenant();
  const published = await publishEvents(
    make.web,
    scope,
    ["a.one", "a.two", "b.one", "a.one"].map((name, index) => ({ name, correlationId: `c-${index % 2}` })),
  );
  const names = async (filter: Parameters<typeof listEvents>[2]["filter"], page = {}) =>
    (await listEvents(make.web, scope, { filter, limit: 10, ...page })).events.map(({ name }) => name);
  expect((await names({})).sort()).toEqual(["a.one", "a.one", "a.two", "b.one"]);
  expect(await names({ name: "a.one" })).toEqual(["a.one", "a.one"]);
  expect((await names({ name: "a.*" })).sort()).toEqual(["a.one", "a.one", "a.two"]);
  expect((await names({ correlation_id: "c-1" })).sort()).toEqual(["a.one", "a.two"]);
  expect(await names({ name: "a.one", correlation_id: "c-1" })).toEqual(["a.one"]);
  expect(await names({ since: new Date(Date.now() + 3_600_000).toISOString() })).toEqual([]);
  expect(await names({ since: new Date(Date.now() - 3_600_000).toISOString() })).toHaveLength(4);
  const first = await listEvents(make.web, scope, { filter: {}, limit: 3 });
  expect(first.hasMore).toBe(true);
  expect(await names({}, { afterId: first.events[2]?.id ?? "" })).toHaveLength(1);
  expect(published).toHaveLength(4);
});
