import { afterAll, expect, test } from "vitest";
import {
  enqueueJob,
  fanOutPending,
  getEvent,
  type Published,
  publishEvent,
  publishEvents,
  replayEvent,
  type TenantScope,
  testTriggers,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { longestTurn } from "@/lib/testing/measure/longest-turn";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();

const MOST_MS = 100;
const TRIGGERS = 200;

async function crowd(texts: Parameters<typeof listening>[1]): Promise<TenantScope> {
  const scope = await make.tenant();
  await listening(scope, texts);
  return scope;
}

/** Creates as many triggers on the event `crowded` as a tenant could. */
async function listening(
  scope: TenantScope,
  {
    condition,
    template = {},
    definitionId = definition.id,
  }: { readonly condition: string | null; readonly template?: object; readonly definitionId?: string },
): Promise<void> {
  await database.query(
    `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, event_name, payload_template, condition, overlap_policy)
     select $1, 'x', 'event', $2, 'crowded', $3, $4, 'allow' from generate_series(1, $5::int)`,
    [scope.tenantId, definitionId, JSON.stringify(template), condition, TRIGGERS],
  );
}
const publish = (scope: TenantScope, count: number) =>
  longestTurn(() =>
    publishEvents(
      make.web,
      scope,
      Array.from({ length: count }, () => ({ name: "crowded" })),
    ),
  );
const doneOf = (published: readonly Published[]) => published.filter(({ status }) => status === "done").length;
const anyOf = (count: number, operand: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => operand(n)).join(" || ");

/** Bytes stored in the tenant's events and firings, and the most misses of one event. */
async function stored({ tenantId }: TenantScope) {
  const [sizes] = await database.query<{ misses: number; most: number; details: number }>(
    `select (select coalesce(sum(octet_length(misses::text)), 0)::int from app.events where tenant_id = $1) as misses,
       (select coalesce(max(octet_length(misses::text)), 0)::int from app.events where tenant_id = $1) as most,
       (select coalesce(sum(octet_length(detail)), 0)::int from app.trigger_firings where tenant_id = $1) as details`,
    [tenantId],
  );
  return sizes ?? { misses: 0, most: 0, details: 0 };
}

test("a request evaluates conditions for about half a second, even if their paths match nothing; the rest is pending", async () => {
  const scope = await crowd({ condition: anyOf(60, (n) => `event.a${n}`) });
  const { result, longestMs, totalMs } = await publish(scope, 500);
  expect(doneOf(result)).toBeGreaterThan(0);
  expect(doneOf(result)).toBeLessThan(100);
  expect(totalMs).toBeLessThan(5000);
  expect(longestMs).toBeLessThan(MOST_MS);
  expect((await fanOutPending(make.web, scope.tenantId)).done).toBeGreaterThan(0);
  await expect(testTriggers(make.web, scope, { replay: 50 })).rejects.toMatchObject({ code: "invalid-value" });
});

test("a false part ends the evaluation of a condition", async () => {
  const scope = await crowd({ condition: Array.from({ length: 60 }, (_, n) => `event.a${n}`).join(" && ") });
  const { result, totalMs } = await publish(scope, 100);
  expect(doneOf(result)).toBe(100);
  expect(totalMs).toBeLessThan(3000);
});

test.each([
  ["long texts", "x".repeat(280)],
  ["texts of three-byte characters", "\u{2013}".repeat(280)],
])("misses with %s store 4 KiB of an event at most, and do not block the event loop", async (_, text) => {
  const scope = await crowd({ condition: `event.zz == "${text}"` });
  const { result, longestMs } = await publish(scope, 500);
  expect(longestMs).toBeLessThan(MOST_MS);
  const { misses, most } = await stored(scope);
  expect(most).toBeGreaterThan(1000);
  expect(most).toBeLessThan(8 * 1024);
  expect(misses).toBeLessThan(2 * 1024 * 1024);
  expect(doneOf(result)).toBeGreaterThan(100);
});

test("long template errors are shortened and do not block the event loop", async () => {
  const template = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [`${n}${"k".repeat(300)}`, "{{event.gone}}"]),
  );
  const scope = await crowd({ condition: null, template });
  const { result, longestMs } = await publish(scope, 25);
  expect(longestMs).toBeLessThan(MOST_MS);
  expect(doneOf(result)).toBeGreaterThan(5);
  expect((await stored(scope)).details).toBeLessThan(25 * TRIGGERS * 600);
});

test("a replay that would take longer is refused and stores nothing", async () => {
  const scope = await make.tenant();
  const data = { list: Array.from({ length: 9000 }, () => "x".repeat(20)) };
  const event = await publishEvent(make.web, scope, { name: "crowded", data });
  await listening(scope, { condition: anyOf(16, (n) => `"${n}" in event.list`) });
  const replay = () => replayEvent(make.web, scope, { eventId: event.id });
  const { result, longestMs, totalMs } = await longestTurn(() => Promise.allSettled([replay()]));
  expect(result[0]).toMatchObject({ status: "rejected", reason: { code: "state-conflict" } });
  expect(totalMs).toBeLessThan(5000);
  expect(longestMs).toBeLessThan(MOST_MS);
  expect((await getEvent(make.web, scope, event.id))?.replays).toEqual([]);
});

test("long reasons of refused jobs are shortened and do not block the event loop", async () => {
  const properties = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`${n}${"k".repeat(190)}`, {}]));
  const strict = await make.definition({
    arg_schema: { type: "object", properties, required: Object.keys(properties), additionalProperties: true },
  });
  const scope = await make.tenant();
  await listening(scope, { condition: null, definitionId: strict.id });
  const { result, longestMs } = await publish(scope, 25);
  expect(longestMs).toBeLessThan(MOST_MS);
  const firings = doneOf(result) * TRIGGERS;
  expect(firings).toBeGreaterThan(2000);
  expect((await stored(scope)).details).toBeLessThan(600 * 1024 + firings * 100);
});

test.each([
  ["too many values", Array.from({ length: 10 }, () => "{{event.wide}}")],
  ["too long a text", Array.from({ length: 40 }, () => "a {{event.long}}")],
])("templates whose payloads would have %s cost little for all triggers of an event", async (_, list) => {
  const scope = await crowd({ condition: null, template: { list } });
  const wide = Object.fromEntries(Array.from({ length: 4000 }, (_value, n) => [`k${n}`, n]));
  const long = Array.from({ length: 4000 }, (_value, n) => `text ${n}`);
  const event = { name: "crowded", data: { wide, long } };
  const { result, longestMs, totalMs } = await longestTurn(() => publishEvents(make.web, scope, [event]));
  expect(doneOf(result)).toBe(1);
  expect(totalMs).toBeLessThan(2000);
  expect(longestMs).toBeLessThan(MOST_MS);
});

test("equal payloads of firings with one key are compared without blocking the event loop", async () => {
  const scope = await make.tenant();
  const x = Array.from({ length: 49 }, () => [[]]);
  await enqueueJob(make.web, scope, { definitionKey: definition.key, dedupeKey: "k2", dedupe: { mode: "live" } });
  await listener(database, scope, {
    definitionId: definition.id,
    eventName: "equal",
    payloadTemplate: { list: Array.from({ length: 99 }, () => "{{event.x}}") },
    dedupeKeyTemplate: "{{event.k}}",
    maxRuns: 2,
  });
  const events = Array.from({ length: 300 }, (_value, n) => ({ name: "equal", data: { k: n === 1 ? "k2" : "k1", x } }));
  const { result, longestMs } = await longestTurn(() => publishEvents(make.web, scope, events));
  expect(doneOf(result)).toBeGreaterThan(100);
  expect(longestMs).toBeLessThan(MOST_MS * 2);
});

test("storing many large events without listeners yields the event loop between them", async () => {
  const scope = await make.tenant();
  const data = Object.fromEntries(Array.from({ length: 9_900 }, (_value, n) => [n.toString(36), 1]));
  const events = Array.from({ length: 13 }, () => ({ name: "unheard", data }));
  const publish = () => longestTurn(() => publishEvents(make.web, scope, events));
  await publish();
  const { result, longestMs, totalMs } = await publish();
  expect(result).toHaveLength(13);
  expect(longestMs).toBeLessThan(totalMs / 4);
});

test("one event starts jobs with about 4 MiB of payloads; its other triggers fail and cost nothing", async () => {
  const scope = await crowd({ condition: null, template: { all: "{{event}}" } });
  const data = { texts: Array.from({ length: 100 }, () => "x".repeat(2500)) };
  await publishEvent(make.web, scope, { name: "crowded", data });
  const rows = await database.query(
    "select outcome, reason, count(*)::int as n from app.trigger_firings where tenant_id = $1 group by 1, 2 order by 1",
    [scope.tenantId],
  );
  expect(rows).toEqual([
    { outcome: "enqueued", reason: null, n: 17 },
    { outcome: "failed", reason: "payload", n: TRIGGERS - 17 },
  ]);
});
