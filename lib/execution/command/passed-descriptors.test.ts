import { afterAll, beforeAll, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { makeTestFolder, registryOf, shellCommand, type TestFolder, testContext } from "../test-support";

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

// Linux gives a pipe of its own type; a socket could carry open descriptors, which the worker would have to close.
const TYPES = "for fd in 0 1 2 3; do stat -L -c %F /proc/self/fd/$fd; done";

test.runIf(process.platform === "linux").each([
  ["null", {}, "character special file"],
  ["its payload", { stdin: "payload" }, "fifo"],
])(
  "a command with %s as input gets no socket to the worker, over which it could send descriptors",
  async (_, input, stdin) => {
    const task = { ...(await shellCommand(folder, "task", TYPES)), ...input };
    const registry = await registryOf(folder, { task });
    const { output } = await executeCommand(registry, "task", {}, testContext().ctx);
    expect(output.stdoutTail).toBe(`${stdin}\nfifo\nfifo\nfifo\n`);
  },
);

test.runIf(process.platform === "linux")("a command can open its output again by name", async () => {
  const task = await shellCommand(folder, "task", "echo one >/dev/stdout; echo two >/dev/stderr");
  const { output } = await executeCommand(await registryOf(folder, { task }), "task", {}, testContext().ctx);
  expect([output.stdoutTail, output.stderrTail]).toEqual(["one\n", "two\n"]);
});
