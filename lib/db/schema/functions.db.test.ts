import { expect, test } from "vitest";
import { readSchemaFiles } from "@/lib/db/migrate/files";
import { testDatabase } from "@/lib/testing/database";

const database = await testDatabase();
const { migrations, functions } = readSchemaFiles();
const DEFINES = /^create (?:or replace )?(?:function|procedure) app\.(\w+)/gm;
const definedIn = (text: string) => [...text.matchAll(DEFINES)].map(([, name]) => name ?? "");

test("each function of schema app is in exactly one file", async () => {
  const rows = await database.query<{ name: string }>(
    "select proname as name from pg_proc where pronamespace = 'app'::regnamespace order by 1",
  );
  const defined = [...migrations, ...functions].flatMap(({ sql }) => definedIn(sql));
  expect(defined.toSorted()).toEqual(rows.map(({ name }) => name));
});

test("no numbered migration calls a function whose text can change", () => {
  const repeatable = functions.flatMap(({ sql }) => definedIn(sql));
  expect(repeatable.length).toBeGreaterThan(30);
  for (const { name, sql } of migrations) {
    const code = sql.replaceAll(/--.*$/gm, "").replaceAll(/^drop (?:function|procedure).*$/gm, "");
    const called = [...code.matchAll(/app\.(\w+)\s*\(/g)].map(([, called]) => called ?? "");
    expect(
      called.filter((one) => repeatable.includes(one)),
      name,
    ).toEqual([]);
  }
});

test("files of functions can be applied at any time: each creates or replaces, and sets all rights", async () => {
  for (const { name, sql } of functions) {
    expect(sql, name).not.toMatch(/^create (?!or replace function)/m);
    for (const one of definedIn(sql))
      expect(sql, `rights of ${one}`).toMatch(new RegExp(`^(?:revoke|grant) .* on function app\\.${one}\\(`, "m"));
  }
});
