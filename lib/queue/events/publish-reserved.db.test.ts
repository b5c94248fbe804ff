import { randomUUID } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { enqueueJob, getEvent, getJob, publishEvent, type TenantScope } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type ListenerFields, listener } from "@/lib/testing/rows/listener";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
const definition = await make.definition();
const listens = (scope: TenantScope, fields: Partial<ListenerFields> = {}) =>
  listener(database, scope, { definitionId: definition.id, ...fields });
const firingsOf = async (scope: TenantScope, id: string) => (await getEvent(make.web, scope, id))?.firings ?? [];

test("no other job and no trigger template can use the dedupe keys of triggers' jobs", async () => {
  const scope = await make.tenant();
  const plain = await listens(scope, { payloadTemplate: { n: 1 } });
  const squatter = await listens(scope, { dedupeKeyTemplate: "{{event.key}}" });
  const first = await publishEvent(make.web, scope, { name: "thing.happened", data: { key: "own" } });
  const started = (await firingsOf(scope, first.id)).find(({ trigger_id: triggerId }) => triggerId === plain);
  const key = (await getJob(make.web, scope, started?.job_id ?? ""))?.dedupe_key ?? "";
  expect(key).toMatch(/^trigger:/);
  const asking = enqueueJob(make.web, await make.tenant(), { definitionKey: definition.key, dedupeKey: key });
  await expect(asking).rejects.toMatchObject({
    code: "invalid-value",
    problems: [{ pointer: "/dedupe_key", code: "reserved" }],
  });
  const second = await publishEvent(make.web, scope, { name: "thing.happened", data: { key } });
  expect((await firingsOf(scope, second.id)).find(({ trigger_id: triggerId }) => triggerId === squatter)).toMatchObject(
    {
      outcome: "failed",
      reason: "dedupe_key",
    },
  );
});

test("a producer id belongs to one producer: other keys, users and jobs can use the same id", async () => {
  const { tenantId } = await make.tenant();
  const as = (kind: "api_key" | "user" | "system", id: string | null) => ({
    tenantId,
    actor: { kind, id, userId: null },
  });
  const [first, second] = [randomUUID(), randomUUID()];
  const producers = [as("api_key", first), as("api_key", second), as("user", first), as("system", null)];
  const event = { name: "thing.happened", producerId: "scan-1" };
  const publish = async (scope: TenantScope) => publishEvent(make.web, scope, event);
  const stored = [];
  for (const producer of producers) stored.push(await publish(producer));
  expect(stored.map(({ duplicate }) => duplicate)).toEqual([false, false, false, false]);
  for (const [place, producer] of producers.entries())
    expect(await publish(producer)).toMatchObject({ id: stored[place]?.id, duplicate: true });
});

test.each(["api", "job"] as const)(
  "the names of the application's own events are reserved in events from %s",
  async (source) => {
    const scope = await make.tenant();
    for (const name of ["job.failed", "trigger.broken"]) {
      const publishing = publishEvent(make.web, scope, { name, source });
      await expect(publishing).rejects.toMatchObject({ code: "invalid-value", problems: [{ code: "reserved" }] });
    }
    expect(await publishEvent(make.web, scope, { name: "jobs.failed", source })).toMatchObject({ status: "done" });
  },
);
