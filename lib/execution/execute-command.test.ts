import { afterAll, beforeAll, expect, test } from "vitest";
import { executeCommand } from "./execute-command";
import {
  makeTestFolder,
  registryOf,
  runShell,
  shellCommand,
  type TestFolder,
  testContext,
  writeProgram,
} from "./test-support";

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

test("a command returns its output, frames and result", async () => {
  const script = `
    import { writeSync } from "node:fs";
    const say = (frame) => writeSync(3, JSON.stringify(frame) + "\\n");
    say({ type: "progress", percent: 40, message: "half way" });
    say({ type: "log", level: "warn", message: "careful" });
    console.log("hello", process.argv.slice(2).join("|"));
    console.error("oops");
    say({ type: "result", value: { done: true } });
  `;
  await writeProgram(folder, "scripts/frames.mjs", script);
  const entry = { script: "scripts/frames.mjs", argv: ["--name={name}"], placeholders: { name: { type: "slug" } } };
  const registry = await registryOf(folder, { frames: entry });
  const { ctx, recorded } = testContext();
  const { outcome, output } = await executeCommand(registry, "frames", { name: "a-b" }, ctx);
  expect({ outcome, stderr: output.stderrTail }).toEqual({
    outcome: { kind: "succeeded", result: { done: true } },
    stderr: "oops\n",
  });
  expect(output).toMatchObject({
    stdoutTail: "hello --name=a-b\n",
    droppedBytes: 0,
    exitCode: 0,
  });
  expect(recorded.progress).toEqual([{ percent: 40, message: "half way" }]);
  expect(recorded.logs).toEqual([{ level: "warn", text: "careful" }]);
  expect(recorded.output).toContainEqual({ stream: "stdout", text: "hello --name=a-b\n" });
});

test("exit codes map to error classes as the entry defines", async () => {
  const exits = {
    ...(await shellCommand(folder, "exits", "echo reason >&2; exit 66")),
    exit_codes: { 66: "not_found" },
  };
  const registry = await registryOf(folder, { exits, plain: await shellCommand(folder, "plain", "exit 3") });
  const mapped = await executeCommand(registry, "exits", {}, testContext().ctx);
  expect(mapped.outcome).toEqual({
    kind: "failed",
    errorType: "not_found",
    message: "exit code 66: reason",
  });
  const plain = await executeCommand(registry, "plain", {}, testContext().ctx);
  expect(plain.outcome).toEqual({ kind: "failed", errorType: "unknown", message: "exit code 3" });
});

test.each(["best", "group", "plain"] as const)(
  "a signal not sent by the worker is reported as that signal (%s)",
  async (isolation) => {
    const { outcome, output } = await runShell(folder, "kill -SEGV $$", { isolation });
    expect(output.signal).toBe("SIGSEGV");
    expect(outcome).toMatchObject({ kind: "failed", errorType: "internal", message: "killed by SIGSEGV" });
  },
);
