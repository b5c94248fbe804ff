import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { listener } from "@/lib/testing/rows/listener";
import { announceEvent } from "./announce-event";
import { fanOutPending, tenantsWithPendingEvents } from "./fan-out-pending";
import { getEvent } from "./read-events";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("Z-05 an event of the platform role starts the tenant's triggers under its own correlation id", async () => {
  const scope = await make.tenant();
  const { id: definitionId } = await make.definition();
  await listener(database, scope, { definitionId, eventName: "provider.connection.changed" });
  const event = { name: "provider.connection.changed", data: { change: "registered" } };
  await announceEvent(make.platform, scope, event);
  await expect(announceEvent(make.platform, scope, { ...event, name: "no name" })).rejects.toMatchObject({
    code: "invalid-value",
  });
  expect(await tenantsWithPendingEvents(make.scheduler)).toEqual([scope.tenantId]);
  expect(await fanOutPending(make.web, scope.tenantId)).toEqual({ done: 1, failed: [] });
  const [row] = await database.query<{ id: string }>("select id from app.events where tenant_id = $1", [
    scope.tenantId,
  ]);
  const told = await getEvent(make.web, scope, row?.id ?? "");
  expect(told).toMatchObject({ ...event, source: "app", correlation_id: row?.id, depth: 0, started: 1, reason: null });
});
