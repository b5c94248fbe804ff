import { expect, test } from "vitest";
import { scheduleFixture } from "@/lib/testing/rows/schedules";
import { fireTurn } from "./loops";
import { turnsFixture } from "./turns.fixture";

const { database, make, surroundings } = await turnsFixture();

test("the next turn continues with tenants that had none, also with two concurrent turns", async () => {
  const { dueTriggers } = scheduleFixture(database, make);
  const tenants = [];
  for (let n = 0; n < 12; n += 1) tenants.push((await make.tenant()).tenantId);
  // The first tenants by id always have due triggers left.
  for (const [n, tenantId] of tenants.entries()) await dueTriggers(tenantId, n < 4 ? 50 : 1, { secondsAgo: 60 - n });
  const turn = fireTurn({ limit: 4 });
  // Four triggers, then eight.
  for (let turns = 0; turns < 2; turns += 1) expect(await turn(surroundings)).toEqual({ again: true });
  await turn(surroundings);
  const rows = await database.query<{ n: number }>(
    "select count(distinct tenant_id)::int as n from app.trigger_firings",
  );
  expect(rows).toEqual([{ n: 12 }]);
});
