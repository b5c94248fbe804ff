import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadCommandRegistry } from "@/lib/execution";
import { compileArgSchema } from "@/lib/queue/testing";
import { builtinDefinitions, handlers } from "./index";

test("the registry of this installation is in the repository and loads", async () => {
  const registry = await loadCommandRegistry(join(import.meta.dirname, "commands.json"), { sharedFolder: tmpdir() });
  expect(registry.keys).toEqual(["walk-folder", "checksum-report"]);
  expect(JSON.parse(readFileSync(registry.path, "utf8"))).toHaveProperty("walk-folder");
});

test("the argument schemas of the built-in definitions compile strictly and accept what their jobs accept", () => {
  for (const definition of builtinDefinitions) {
    const validate = compileArgSchema(definition.arg_schema);
    expect(validate({}), definition.key).not.toEqual([]);
    expect(validate({ provider_id: "11111111-1111-1111-1111-111111111111", unknown: 1 })).not.toEqual([]);
  }
  const [sync] = builtinDefinitions;
  expect(compileArgSchema(sync?.arg_schema)({ provider_id: "11111111-1111-1111-1111-111111111111" })).toEqual([]);
});

test("built-in handlers are marked, so that tenants see their messages without internal stacks", () => {
  const marked = [...handlers.values()].filter(({ isShipped }) => isShipped).map(({ key }) => key);
  expect(marked).toEqual(["sync-folder", "import-csv", "find-similar", "send-email"]);
});
