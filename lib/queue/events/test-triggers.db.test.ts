import { afterAll, expect, test } from "vitest";
import { publishEvent, testTriggers } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { longestTurn } from "@/lib/testing/measure/longest-turn";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();
const big = { list: Array.from({ length: 9000 }, (_, n) => `value ${n} ${"x".repeat(14)}`) };

test.each([
  { what: "payloads", fields: { payloadTemplate: { all: "{{event}}" } } },
  { what: "conditions", fields: { condition: "event.list == event.list && event.list.size() == 0" } },
])("testing many large events on many triggers is refused before it blocks the process: $what", async ({ fields }) => {
  const scope = await make.tenant();
  const ids: string[] = [];
  for (let n = 0; n < 50; n += 1)
    ids.push(await listener(database, scope, { definitionId: definition.id, eventName: "large", ...fields }));
  for (let n = 0; n < 20; n += 1) await publishEvent(make.web, scope, { name: "large", data: big }, { maxDepth: 0 });

  await expect(testTriggers(make.web, scope, { replay: 20 })).rejects.toMatchObject({
    code: "invalid-value",
    problems: [{ pointer: "/trigger_id" }],
  });
  const [triggerId = ""] = ids;
  expect(await testTriggers(make.web, scope, { replay: 20, trigger_id: triggerId })).toMatchObject({
    events: 20,
    considered: 20,
  });
});

test("a trigger that compares large objects counts each comparison", async () => {
  const scope = await make.tenant();
  const object = Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`key ${n}`, n]));
  const condition = Array.from({ length: 8 }, () => "event.a == event.b").join(" && ");
  const draft = { event_name: "large", condition };
  for (let n = 0; n < 64; n += 1)
    await publishEvent(make.web, scope, { name: "large", data: { a: object, b: object } }, { maxDepth: 0 });
  const began = process.cpuUsage();
  await expect(testTriggers(make.web, scope, { replay: 64, draft })).rejects.toMatchObject({ code: "invalid-value" });
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1000).toBeLessThan(8000);
});

test("testing many triggers with large payloads yields the event loop, up to the last one", async () => {
  const scope = await make.tenant();
  const fields = { definitionId: definition.id, event_name: "wide", payloadTemplate: { all: "{{event}}" } };
  for (let n = 0; n < 150; n += 1) await listener(database, scope, fields);
  const data = { a: Array.from({ length: 9_900 }, (_, n) => ((n % 90) + 11) / 10) };
  const tests = () => longestTurn(() => testTriggers(make.web, scope, { event: { name: "wide", data } }));
  await tests();
  const { result, longestMs, totalMs } = await tests();
  expect(result.data.map(({ payload_omitted }) => payload_omitted).lastIndexOf(false)).toBeLessThan(
    75,
  );
  expect(result).toMatchObject({ considered: 150, would_start: 150 });
  expect(longestMs).toBeLessThan(totalMs / 8);
});
