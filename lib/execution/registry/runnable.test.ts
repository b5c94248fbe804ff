import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { makeTestFolder, registryOf, type TestFolder, testContext, writeProgram } from "../test-support";

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

const ELF = Buffer.concat([
  Buffer.from([0x7f, 0x45, 0x4c, 0x46]),
  Buffer.from("\ntouch ran-in-a-shell\n".padEnd(300, "#")),
]);
const GOOD = "#!/bin/sh\ntrue\n";
const put = (text: string | Buffer) => (file: string) => writeFile(file, text);

const BAD: [string, (file: string) => Promise<void>, RegExp][] = [
  ["without a shebang", put("touch ran-in-a-shell\n"), /neither a program nor a script/],
  ["that is empty", put(""), /neither a program nor a script/],
  ["with a shebang that names nothing", put("#!\ntouch ran-in-a-shell\n"), /neither a program nor a script/],
  ["with a shebang too long for the kernel", put(`#!/${"x".repeat(300)}\ntrue\n`), /neither a program nor a script/],
  ["with an ELF header and a script behind it", put(ELF), /another machine|not a complete program/],
  ["whose interpreter is missing", put("#!/opt/no such/python\n"), /needs "\/opt\/no", which/],
  ["with a carriage return after its interpreter", put("#!/bin/sh\r\ntrue\r\n"), /needs "\/bin\/sh\\r", which/],
  ["whose program env does not find", put("#!/usr/bin/env no-such-python\n"), /needs the program "no-such-python"/],
  ["of mode 000", (file) => chmod(file, 0o000), /cannot be executed/],
  ["that is missing", (file) => rm(file), /is missing/],
];

test.each(BAD)("a file %s is not run by a shell, and fails permanently with that reason", async (_, spoil, says) => {
  const path = await writeProgram(folder, "bin/task", GOOD);
  const registry = await registryOf(folder, { task: { binary: path } });
  await spoil(path);
  const { ctx, recorded } = testContext();
  const { outcome } = await executeCommand(registry, "task", {}, ctx);
  expect(outcome).toMatchObject({
    kind: "failed",
    errorType: "command_not_allowed",
    message: expect.stringMatching(says),
  });
  expect(recorded.pids).toEqual([]);
  await rm(path, { force: true });
});

test("programs, scripts and scripts with env run", async () => {
  const script = await writeProgram(folder, "bin/hello", GOOD);
  const perl = await writeProgram(folder, "bin/greet", "#!/usr/bin/env perl\nexit 0;\n");
  const node = await writeProgram(folder, "task.mjs", "process.exit(0);\n");
  const entries = {
    elf: { binary: "/bin/true" },
    script: { binary: script },
    perl: { binary: perl },
    node: { script: "task.mjs" },
  };
  const registry = await registryOf(folder, entries);
  expect(node).toBe(join(folder.jobs, "task.mjs"));
  for (const key of Object.keys(entries))
    expect((await executeCommand(registry, key, {}, testContext().ctx)).outcome, key).toMatchObject({
      kind: "succeeded",
    });
});
