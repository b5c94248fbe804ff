import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

/** A text of zod that no minifier changes. */
const ZOD = "$ZodType";

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => path.join(folder, name));
}
const withZod = (folder: string) => filesIn(folder).filter((file) => readFileSync(file, "utf8").includes(ZOD));

test("no script that a page loads contains zod, which the server bundle contains", () => {
  expect(filesIn(".next-test/static").length).toBeGreaterThan(5);
  expect(withZod(".next-test/static")).toEqual([]);
  expect(withZod(".next-test/server").length).toBeGreaterThan(0);
});
