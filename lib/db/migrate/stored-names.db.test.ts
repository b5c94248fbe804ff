import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { defaultSchemaFolder } from "./files";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());

test("0012 renames the keys of stored JSON, and leaves texts that look like them", async () => {
  const scope = await make.tenant();
  const { id } = await make.definition();
  await database.query("update app.job_definitions set retry_classes = $2 where id = $1", [
    id,
    { timeout: { delaySeconds: 1, maxDelaySeconds: 2, maxAttempts: 3, timeoutMultiplier: 4 } },
  ]);
  const tag = '"jobIds": 1, definitionKey';
  await database.query(
    `insert into app.bulk_actions (tenant_id, action, target, next_before, total, total_is_exact, actor_kind)
     values ($1, 'pause', $2, app.new_id(), 1, true, 'system')`,
    [scope.tenantId, { filter: { definitionKey: "a", createdAfter: "2026-01-01T00:00:00.000Z", tag } }],
  );
  const file = path.join(defaultSchemaFolder(), "migrations/0012_names_in_stored_json.sql");
  for (const text of (await readFile(file, "utf8")).split(/;$/m).filter((part) => part.includes("update ")))
    await database.query(text);
  const [definition] = await database.query("select retry_classes from app.job_definitions where id = $1", [id]);
  expect(definition).toEqual({
    retry_classes: { timeout: { delay_seconds: 1, max_delay_seconds: 2, max_attempts: 3, timeout_multiplier: 4 } },
  });
  const [action] = await database.query("select target from app.bulk_actions where tenant_id = $1", [scope.tenantId]);
  expect(action).toEqual({
    target: { filter: { definition_key: "a", created_after: "2026-01-01T00:00:00.000Z", tag } },
  });
});
