import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { Supported } from "./supported";

const database = await testDatabase();
const make = makeFactory(database);
afterAll(() => make.close());
await make.definition({ key: "by-command", command_key: "known" });
await make.definition({ key: "by-unknown-command", command_key: "unknown" });
await make.definition({ key: "by-handler", executor: "handler" });
await make.definition({ key: "by-remote-worker", executor: "remote" });

const EVERYTHING = { queues: undefined, definitions: undefined, bands: undefined };
const known = { hasHandler: () => true, hasCommand: (key: string) => key === "known" };

test("A-01 a worker supports the definitions it knows and is configured for, and never remote ones", async () => {
  const all = await Supported.read(make.worker, EVERYTHING, known);
  expect(all.definitions).toEqual(["by-command", "by-handler"]);
  const wanted = { ...EVERYTHING, definitions: ["by-handler", "by-remote-worker"] };
  expect((await Supported.read(make.worker, wanted, known)).definitions).toEqual(["by-handler"]);
});
