import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { dumpSchema } from "./dump.fixture";

const database = await testDatabase();
const file = fileURLToPath(new URL("../../../drizzle/schema.snapshot.txt", import.meta.url));

test("the schema equals drizzle/schema.snapshot.txt (UPDATE_SNAPSHOT=1 rewrites it)", async () => {
  const dump = await dumpSchema(database.adminUrl);
  if (process.env.UPDATE_SNAPSHOT === "1") writeFileSync(file, dump);
  expect(dump).toBe(readFileSync(file, "utf8"));
});

test("the dump changes with a column, a grant, a policy, an index, a trigger or a function", async () => {
  const before = await dumpSchema(database.adminUrl);
  for (const [change, undo] of [
    ["alter table app.lists add column x text", "alter table app.lists drop column x"],
    ["grant update (name) on app.lists to leasehold_web", "revoke update (name) on app.lists from leasehold_web"],
    ["create policy x on app.lists to leasehold_auth using (true)", "drop policy x on app.lists"],
    ["create index x on app.lists (row_count)", "drop index app.x"],
    ["alter table app.lists no force row level security", "alter table app.lists force row level security"],
    [
      "create trigger x before truncate on app.lists for each statement execute function app.refuse_change()",
      "drop trigger x on app.lists",
    ],
    [
      "grant execute on function app.ensure_partitions(integer) to leasehold_web",
      "revoke execute on function app.ensure_partitions(integer) from leasehold_web",
    ],
  ] as const) {
    await database.query(change);
    expect(await dumpSchema(database.adminUrl), change).not.toBe(before);
    await database.query(undo);
    expect(await dumpSchema(database.adminUrl), undo).toBe(before);
  }
}, 120_000);
