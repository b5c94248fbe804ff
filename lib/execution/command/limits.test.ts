import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DatabaseError } from "@/lib/db";
import { executeCommand } from "../execute-command";
import { storable } from "../output/clean-text";
import { ProcessGroup } from "../process/group";
import {
  makeTestFolder,
  registryOf,
  runShell,
  shellCommand,
  type TestFolder,
  testContext,
  until,
  writeProgram,
} from "../test-support";

const isRoot = process.getuid?.() === 0;

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

test("SUBPROC-05 signals are never sent to an unknown group, the worker's own, or one that ended", async () => {
  const options = { mark: "/nowhere", searchesMarks: false };
  for (const pid of [0, 1, -1, Number.NaN, undefined as unknown as number]) {
    expect(() => new ProcessGroup(pid, options)).toThrow(RangeError);
  }
  const child = spawn("/bin/true", { detached: true });
  const { pid } = child;
  await new Promise((resolve) => child.once("exit", resolve));
  if (pid === undefined) throw new Error("no process");
  const group = new ProcessGroup(pid, options);
  expect(group.signal("SIGTERM")).toBe(false);
  expect(await group.kill(1000)).toBe(true);
});

test("a job without a working folder is released unspent, and the worker learns of it", async () => {
  const registry = await registryOf(folder, { task: await shellCommand(folder, "task", "true") }, "plain");
  const file = join(folder.root, "a file in its place");
  await writeFile(file, "");
  let changes = 0;
  registry.preparation.onChange = () => {
    changes += 1;
  };
  const broken = await executeCommand({ ...registry, workRoot: file }, "task", {}, testContext().ctx);
  expect(broken.outcome).toEqual({ kind: "released" });
  expect([registry.preparation.problem, changes]).toEqual([expect.stringContaining("no working folder"), 1]);
  // A missing folder is made again.
  const missing = { ...registry, workRoot: join(folder.root, "absent") };
  expect((await executeCommand(missing, "task", {}, testContext().ctx)).outcome.kind).toBe("succeeded");
  expect([registry.preparation.problem, changes]).toEqual([null, 2]);
});

test("a command whose preparation fails in the database is released unspent", async () => {
  const cat = { binary: "/bin/cat", argv: ["{f}"], placeholders: { f: { type: "provider_path", path_from: "path" } } };
  const registry = await registryOf(folder, { cat }, "plain");
  for (const kind of ["unavailable", "timeout", "retryable"] as const) {
    const { ctx } = testContext({ openProviderPath: () => Promise.reject(new DatabaseError({ kind })) });
    const args = { provider_id: "0190a000-0000-7000-8000-000000000003", path: "a" };
    expect((await executeCommand(registry, "cat", args, ctx)).outcome).toEqual({ kind: "released" });
  }
});

test("SUBPROC-10 binary output breaks neither the job nor what is stored", async () => {
  const { outcome, output } = await runShell(folder, `head -c 4096 /dev/urandom; printf 'a\\000b\\377\\376' >&2`);
  expect(outcome.kind).toBe("succeeded");
  expect(output.stderrTail).toBe("a\ufffdb\ufffd\ufffd");
  expect(storable(output.stdoutTail)).toBe(output.stdoutTail);
});

test("SUBPROC-11 a last line without a newline and the states of a progress bar are kept", async () => {
  const { output } = await runShell(folder, `printf '\\rp 1%%\\rp 2%%' >&2; printf last`);
  expect(output.stdoutTail).toBe("last");
  expect(output.stderrTail).toBe("\rp 1%\rp 2%");
});

test("SUBPROC-13 too large arguments are refused before a process starts", async () => {
  const script = await writeProgram(folder, "bin/args", "#!/bin/sh\necho $#\n");
  const entry = { binary: script, env: { BIG: "{big}" }, placeholders: { big: { type: "text", max_length: 65_536 } } };
  const many = { binary: script, argv: Array(1000).fill("x".repeat(3000)) };
  const registry = await registryOf(folder, { entry, many, one: { binary: script, argv: ["x".repeat(200_000)] } });
  for (const key of ["many", "one"]) {
    const { ctx, recorded } = testContext();
    const { outcome } = await executeCommand(registry, key, {}, ctx);
    expect(outcome).toMatchObject({ kind: "failed", errorType: "invalid_input" });
    expect(recorded.pids).toEqual([]);
  }
  const { outcome } = await executeCommand(registry, "entry", { big: "€".repeat(60_000) }, testContext().ctx);
  expect(outcome).toMatchObject({ errorType: "invalid_input", message: expect.stringContaining("larger than") });
  const withNul = await executeCommand(registry, "entry", { big: "a\0b" }, testContext().ctx);
  expect(withNul.outcome).toMatchObject({ errorType: "invalid_input" });
});

test("SUBPROC-15 a command that does not read its input ends with its own exit code", async () => {
  const lines = { none: "exit 0", some: "head -c1 >/dev/null; exit 4" };
  const entries: Record<string, unknown> = {};
  for (const [key, script] of Object.entries(lines)) {
    entries[key] = { ...(await shellCommand(folder, key, script)), stdin: "payload" };
  }
  const registry = await registryOf(folder, entries);
  const args = { text: "x".repeat(5_000_000) };
  expect((await executeCommand(registry, "none", args, testContext().ctx)).outcome.kind).toBe("succeeded");
  expect((await executeCommand(registry, "some", args, testContext().ctx)).output.exitCode).toBe(4);
});

test("SUBPROC-18 a program replaced after the worker's start is not run", async () => {
  const registry = await registryOf(folder, { task: await shellCommand(folder, "swap", "echo good") });
  const path = await writeProgram(folder, "bin/swap", "#!/bin/sh\necho evil\n");
  await chmod(path, 0o757);
  const writable = await executeCommand(registry, "task", {}, testContext().ctx);
  expect(writable.outcome).toMatchObject({ errorType: "command_not_allowed" });
  await rename(path, `${path}.real`);
  await symlink("/bin/cat", path);
  const linked = await executeCommand(registry, "task", {}, testContext().ctx);
  expect(linked.outcome).toMatchObject({ errorType: "command_not_allowed" });
  expect(linked.output.pid).toBeUndefined();
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
  "SUBPROC-21 a time limit of %s is refused",
  async (timeoutSeconds) => {
    const { outcome } = await runShell(folder, "true", { timeoutSeconds });
    expect(outcome).toMatchObject({ kind: "failed", errorType: "invalid_input" });
  },
);

test("SUBPROC-21 a time limit longer than setTimeout supports does not fire at once", async () => {
  const { outcome } = await runShell(folder, "sleep 0.1", { timeoutSeconds: 3_000_000 });
  expect(outcome.kind).toBe("succeeded");
});

test("R-8 a gigabyte of output is drained, counted and stored as head and tail", { timeout: 30_000 }, async () => {
  const before = process.memoryUsage().rss;
  const size = 200 * 1024 * 1024;
  const { outcome, output } = await runShell(folder, `yes 0123456789abcde | head -c ${size}`);
  expect(outcome.kind).toBe("succeeded");
  expect(output.stdoutBytes).toBe(size);
  expect(output.droppedBytes).toBe(size - 192 * 1024);
  expect(output.stdoutTail.endsWith("0123456789abcde\n")).toBe(true);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
});

test.runIf(isRoot)("CM-6 under root a command runs as an unprivileged user", async () => {
  const { output } = await runShell(folder, "touch own && echo wrote; touch /var/lib/x || echo refused");
  expect(output.stdoutTail).toBe("wrote\nrefused\n");
});

test("CM-6 the limits of the entry are enforced", async () => {
  const entry = {
    ...(await shellCommand(folder, "limited", "ulimit -c; ulimit -n; head -c 5000000 /dev/zero >big || echo full")),
    limits: { open_files: 64, file_size_mb: 1 },
  };
  const registry = await registryOf(folder, { entry });
  const { output } = await executeCommand(registry, "entry", {}, testContext().ctx);
  const expected = registry.isolation.includes("limits") ? "0\n64\nfull\n" : expect.stringMatching(/^0\n/);
  expect(output.stdoutTail).toEqual(expected);
});

test("a job has its own working folder, which is removed whatever the job does to it", async () => {
  let seen = "";
  const lines = "pwd; mkdir -p a/b && touch a/b/c && chmod 0 a/b a; echo text > result.txt";
  const { output } = await runShell(folder, lines, {
    inspectFolder: async (path) => {
      seen = existsSync(join(path, "result.txt")) ? path : "";
    },
  });
  expect(output.stdoutTail).toBe(`${seen}\n`);
  await until("it is removed", () => !existsSync(seen));
  const names = () => readdirSync(join(folder.shared, "work"));
  await until("no other is there", () => !names().some((name) => name.startsWith("job-")));
});

test("the end of one command does not affect another one with the same isolation", async () => {
  const registry = await registryOf(
    folder,
    {
      long: await shellCommand(folder, "long", "echo up; sleep 0.8; echo end"),
      short: await shellCommand(folder, "short", "true"),
    },
    "group",
  );
  const long = testContext();
  const running = executeCommand(registry, "long", {}, long.ctx);
  await until("it runs", () => long.recorded.output.length > 0);
  await executeCommand(registry, "short", {}, testContext().ctx);
  expect((await running).output.stdoutTail).toBe("up\nend\n");
});
