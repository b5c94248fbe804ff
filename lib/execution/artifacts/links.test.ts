import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { swapWithLink } from "@/lib/testing/swapper";
import { secretForms } from "../output/secret-forms";
import { makeTestFolder, runShell, type TestFolder } from "../test-support";
import type { RunContext } from "../types";
import { AttemptArtifacts } from "./attempt-artifacts";
import { collectFiles } from "./collect";
import { memoryArtifacts } from "./memory-artifacts.fixture";

let folder: TestFolder;
let foreign = "";
beforeAll(async () => {
  folder = await makeTestFolder();
  foreign = join(folder.root, "foreign");
  for (const name of ["full/f", "full/sub/f", "empty"])
    await mkdir(join(foreign, name), { recursive: true, mode: 0o700 });
  for (const name of ["full/file", "full/sub/file", "file"]) await writeFile(join(foreign, name), "foreign");
});
afterAll(() => folder.remove());

/** Everything that a tenant sees of an attempt: its outcome, its log and its artifacts. */
async function seen(lines: string) {
  const kept = memoryArtifacts();
  const logs: string[] = [];
  const onLog: RunContext["onLog"] = (_level, text) => logs.push(text);
  const { outcome } = await runShell(folder, lines, { artifacts: kept.store, onLog });
  return { outcome, logs, files: [...kept.files.keys()] };
}

const TARGETS = ["full", "empty", "file", "nothing", "full/sub", "full/f"];
const SYSTEM = ["/etc", "/root", "/proc/1/fd", "/etc/passwd", "/nothing"];
const frame = (path: string) => `echo '{"type":"artifact","name":"wanted","path":"${path}"}' >&3`;

describe("what an attempt reports does not depend on the target of a link", () => {
  test.each([
    ["the folder artifacts/", (target: string) => `ln -s '${target}' artifacts`],
    ["a folder in it", (target: string) => `mkdir artifacts; ln -s '${target}' artifacts/sub`],
    ["a named file", (target: string) => `ln -s '${target}' out; ${frame("out")}`],
    ["a folder on the way to a named file", (target: string) => `ln -s '${target}' out; ${frame("out/file")}`],
    [
      "the folder artifacts/ of a named file",
      (target: string) => `ln -s '${target}' artifacts; ${frame("artifacts/file")}`,
    ],
  ])("in place of %s", async (_place, lines) => {
    const targets = [...TARGETS.map((name) => join(foreign, name)), ...SYSTEM];
    const first = await seen(lines(targets[0] ?? ""));
    expect(first.files).toEqual([]);
    for (const target of targets.slice(1)) expect(await seen(lines(target)), target).toEqual(first);
  });
});

test("a folder that is replaced by a link during collection exposes no file behind the link", async () => {
  const work = join(folder.root, "work");
  await mkdir(join(work, "artifacts/sub"), { recursive: true });
  await writeFile(join(work, "artifacts/sub/file"), "own");
  swapWithLink(join(work, "artifacts/sub"), join(foreign, "full/sub"));
  let own = 0;
  for (let round = 0; round < 300; round += 1) {
    const kept = memoryArtifacts();
    const ctx = { artifacts: kept.store, onLog: () => {} };
    const named = [{ name: "named", path: "artifacts/sub/file" }];
    const artifacts = new AttemptArtifacts(ctx, secretForms([]));
    await collectFiles({ folder: work, named, artifacts, ctx, check: () => {} });
    for (const { bytes } of kept.files.values()) expect(bytes.toString()).toBe("own");
    own += kept.files.size;
  }
  expect(own).toBeGreaterThan(0);
});
