import { mkdirSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withFewDescriptors } from "@/lib/testing/few-descriptors";
import { executeCommand } from "../execute-command";
import { makeTestFolder, registryOf, shellCommand, type TestFolder, testContext, until } from "../test-support";
import { FolderRemover } from "./folder-remover";
import { detectIsolation } from "./isolation";
import { mayRead } from "./run-as";

/** A start takes about fifteen. */
const FREE = [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20];
let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

// An error that nothing listens to fails the test run, as it would end a worker.
describe.runIf(process.platform === "linux")("a process without free descriptors", () => {
  test.each(["best", "user", "group", "plain"] as const)("fails a command for now (%s)", async (isolation) => {
    const registry = await registryOf(folder, { task: await shellCommand(folder, "task", "echo done") }, isolation);
    const run = async () => (await executeCommand(registry, "task", {}, testContext().ctx)).outcome;
    expect((await run()).kind).toBe("succeeded");
    const open = readdirSync("/proc/self/fd").length;
    for (const free of FREE) {
      const outcome = await withFewDescriptors(free, run);
      if (outcome.kind === "succeeded" || outcome.kind === "released") continue;
      expect(outcome, `${free} free`).toMatchObject({ kind: "failed", errorType: "temporary_resource" });
    }
    expect((await run()).kind).toBe("succeeded");
    await until("no descriptor is left open", () => readdirSync("/proc/self/fd").length <= open);
  });

  test("removes a working folder later", async () => {
    const left = path.join(folder.root, "left");
    mkdirSync(path.join(left, "sub"), { recursive: true });
    const reported: string[] = [];
    const remover = new FolderRemover((...what) => reported.push(...what));
    await withFewDescriptors(0, async () => {
      remover.add(left);
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    await until("it is removed", () => !readdirSync(folder.root).includes("left"), 30_000);
    await remover.stop(1000);
    expect(reported).toEqual([]);
  });

  test("chooses no weaker isolation, and answers no question about rights", async () => {
    const hide = { folders: [], files: [], scratch: [], kept: [] };
    const detect = () => detectIsolation({ runAs: null, hide, folder: folder.shared });
    await expect(withFewDescriptors(0, detect)).rejects.toMatchObject({ code: "EMFILE" });
    const handle = await open(folder.shared);
    const ask = () => mayRead({ uid: 65_534, gid: 65_534, name: "nobody" }, { way: [], handle });
    await expect(withFewDescriptors(0, ask)).rejects.toMatchObject({ code: "EMFILE" });
    await handle.close();
  });
});
