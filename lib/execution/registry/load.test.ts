import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { makeTestFolder, registryOf, type TestFolder, testContext, writeProgram, writeRegistry } from "../test-support";
import { loadCommandRegistry } from "./load";

const isRoot = process.getuid?.() === 0;
let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

const load = (entries: Record<string, unknown>) => registryOf(folder, entries, "plain");

test("CM-1 a valid registry loads with its hash and the isolation of its commands", async () => {
  const registry = await registryOf(folder, {
    list: { binary: "/bin/ls", argv: ["--", "{what}"], placeholders: { what: { type: "file" } } },
  });
  expect(registry.keys).toEqual(["list"]);
  expect(registry.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(registry.isolation).toMatch(/^(pid-namespace|process-group), /);
});

test.each([
  ["sh", { binary: "/bin/sh", argv: ["-c", "true"] }, /sh is a shell/],
  ["a link to a shell", { binary: "@link-to-sh" }, /is a shell/],
  ["bash", { binary: "/bin/bash" }, /bash is a shell/],
  ["env", { binary: "/usr/bin/env", argv: ["true"] }, /env runs other programs/],
  ["xargs", { binary: "/usr/bin/xargs" }, /xargs runs other programs/],
  ["awk with a program", { binary: "/usr/bin/awk", argv: ["BEGIN {system(1)}"] }, /braces|interpreter/],
  ["an interpreter with code", { binary: "/usr/bin/perl", argv: ["-e", "1"] }, /perl is an interpreter/],
  ["node -e", { binary: process.execPath, argv: ["-e", "1"] }, /node is an interpreter/],
  [
    "an interpreter with a placeholder first",
    { binary: "/usr/bin/perl", argv: ["{f}"], placeholders: { f: { type: "slug" } } },
    /interpreter/,
  ],
  ["a relative path", { binary: "bin/ls" }, /absolute path/],
  ["a detour", { binary: "/bin/../bin/ls" }, /absolute path/],
  ["a missing file", { binary: "/bin/does-not-exist" }, /cannot be resolved/],
  ["a folder", { binary: "/bin" }, /not a regular file/],
  ["a script outside", { script: "../evil.mjs" }, /below the folder/],
  ["an absolute script", { script: "/tmp/evil.mjs" }, /below the folder/],
  ["both", { binary: "/bin/ls", script: "x.mjs" }, /exactly one of/],
  ["neither", {}, /exactly one of/],
  ["an unknown property", { binary: "/bin/ls", shell: true }, /shell/],
  ["an undeclared placeholder", { binary: "/bin/ls", argv: ["--x={a}"] }, /not declared/],
  ["an unused placeholder", { binary: "/bin/ls", placeholders: { a: { type: "int" } } }, /used nowhere/],
  ["mixed text", { binary: "/bin/ls", argv: ["a{b}"], placeholders: { b: { type: "int" } } }, /without braces/],
  [
    "a bare value that can be an option",
    { binary: "/bin/ls", argv: ["{f}"], placeholders: { f: { type: "relative_path" } } },
    /start with "-"/,
  ],
  [
    "a negative number in place",
    { binary: "/bin/ls", argv: ["{n}"], placeholders: { n: { type: "int" } } },
    /start with "-"/,
  ],
  [
    "text in argv",
    { binary: "/bin/ls", argv: ["--x={t}"], placeholders: { t: { type: "text" } } },
    /only be given in env/,
  ],
  [
    "steering variables from a payload",
    { binary: "/bin/ls", env: { LD_PRELOAD: "{t}" }, placeholders: { t: { type: "text" } } },
    /must be a constant/,
  ],
  [
    "GIT_CONFIG_COUNT",
    { binary: "/bin/ls", env: { GIT_CONFIG_COUNT: "{t}" }, placeholders: { t: { type: "text" } } },
    /must be a constant/,
  ],
  [
    "five files of providers",
    {
      binary: "/bin/ls",
      argv: ["{a}", "{b}", "{c}", "{d}", "{e}"],
      placeholders: Object.fromEntries([..."abcde"].map((name) => [name, { type: "provider_path", path_from: name }])),
    },
    /at most 4 placeholders/,
  ],
])("C3 an entry is refused by name: %s", async (_name, entry, reason) => {
  const link = join(folder.jobs, "link-to-sh");
  await symlink("/bin/sh", link).catch(() => undefined);
  const spec = { ...entry, ...("binary" in entry && entry.binary === "@link-to-sh" ? { binary: link } : {}) };
  await expect(load({ good: { binary: "/bin/ls" }, wrong: spec })).rejects.toThrow(/command wrong: /);
  await expect(load({ wrong: spec })).rejects.toThrow(reason);
});

test.each([["Upper"], ["../up"], [""], ["a b"], ["-a"]])("C1 an invalid key is refused: %j", async (key) => {
  await expect(load({ [key]: { binary: "/bin/ls" } })).rejects.toThrow(/is not a command key/);
});

test.each([
  ["{", /is not JSON/],
  ["[]", /one object/],
  ["null", /one object/],
])("an invalid registry file is refused: %s", async (text, reason) => {
  const path = await writeRegistry(folder, {});
  await writeFile(path, text);
  await expect(loadCommandRegistry(path, { sharedFolder: folder.shared })).rejects.toThrow(reason);
});

test.each([0o775, 0o757])("CM-1 C3 files writable by others are refused (%o)", async (mode) => {
  const program = await writeProgram(folder, "bin/loose", "#!/bin/sh\n");
  await chmod(program, mode);
  await expect(load({ loose: { binary: program } })).rejects.toThrow(
    /command loose: binary: .* writable by group or others/,
  );
  const path = await writeRegistry(folder, { list: { binary: "/bin/ls" } });
  await chmod(path, mode & 0o666);
  await expect(loadCommandRegistry(path, { sharedFolder: folder.shared })).rejects.toThrow(/registry: .* writable/);
});

test("CM-1 a file in a world-writable folder is refused", async () => {
  const loose = join(folder.jobs, "loose");
  await mkdir(loose, { recursive: true });
  const program = await writeProgram(folder, "loose/tool", "#!/bin/sh\n");
  await chmod(loose, 0o777);
  await expect(load({ tool: { binary: program } })).rejects.toThrow(/folder .* writable by everybody/);
  await chmod(loose, 0o1777);
  await expect(load({ tool: { binary: program } })).resolves.toBeDefined();
});

test.runIf(isRoot)("CM-1 under root another user's file is refused", async () => {
  const program = await writeProgram(folder, "bin/foreign", "#!/bin/sh\n");
  await chown(program, 1000, 1000);
  await expect(load({ foreign: { binary: program } })).rejects.toThrow(/belongs to user 1000/);
});

test.runIf(isRoot)("a script that the user `nobody` cannot read is run from a copy", async () => {
  const hidden = await makeTestFolder();
  await writeProgram(hidden, "scripts/lib/part.mjs", "export const word = 'found';");
  await writeProgram(
    hidden,
    "scripts/main.mjs",
    "import { word } from './lib/part.mjs'; console.log(word, import.meta.url);",
  );
  await chmod(hidden.jobs, 0o700);
  const path = await writeRegistry(hidden, { main: { script: "scripts/main.mjs" } });
  for (const _twice of [1, 2]) {
    const registry = await loadCommandRegistry(path, { sharedFolder: hidden.shared });
    const { outcome, output } = await executeCommand(registry, "main", {}, testContext().ctx);
    expect(outcome.kind).toBe("succeeded");
    expect(output.stdoutTail).toMatch(/^found file:.*\/shared\/commands\/[0-9a-f]{16}\/scripts\/main\.mjs\n$/);
  }
  await chmod(hidden.jobs, 0o755);
  await hidden.remove();
});

test("C1 only an exact key runs a command", async () => {
  const registry = await load({ "walk-folder": { binary: "/bin/ls" } });
  const hostile = [
    "Walk-Folder",
    "walk-folder ",
    "walk\u2010folder",
    "walk-folder\0",
    "",
    "__proto__",
    "constructor",
    "toString",
    "wаlk-folder",
    "walk-folder/../x",
  ];
  for (let index = 0; index < 200; index += 1) hostile.push(`${hostile[index % 10]}${index}`);
  for (const key of hostile) {
    const { ctx, recorded } = testContext();
    const { outcome } = await executeCommand(registry, key, {}, ctx);
    expect(outcome).toMatchObject({ kind: "failed", errorType: "command_not_allowed" });
    expect(recorded.pids).toEqual([]);
  }
});
