import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executeCommand } from "./execute-command";
import { storable } from "./output/clean-text";
import { ProcessGroup } from "./process/group";
import {
  hasProc,
  makeTestFolder,
  processesOf,
  registryOf,
  runShell,
  shellCommand,
  type TestFolder,
  testContext,
  until,
  writeProgram,
} from "./test-support";

const MODES = ["best", "group", "plain"] as const;
const isRoot = process.getuid?.() === 0;

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

describe.runIf(hasProc).each(MODES)("with isolation %s", (isolation) => {
  test("SUBPROC-01 a timeout leaves no process of the group", async () => {
    const jobId = randomUUID();
    const lines = "sleep 300 & sleep 300 & sleep 300; true";
    const { outcome } = await runShell(folder, lines, { isolation, jobId, timeoutSeconds: 0.4, killGraceSeconds: 0.3 });
    expect(outcome.kind).toBe("timeout");
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-01 CM-5 what left the group and the session is gone as well", async () => {
    const jobId = randomUUID();
    const lines = `setsid sh -c 'trap "" TERM HUP; sleep 300; sleep 300' >/dev/null 2>&1 & sleep 0.2; echo started`;
    const { output } = await runShell(folder, lines, { isolation, jobId });
    expect(output.stdoutTail).toBe("started\n");
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-03 a grandchild that keeps the output open does not keep the job", async () => {
    const jobId = randomUUID();
    const begun = performance.now();
    const { outcome, output } = await runShell(folder, "sleep 120 & echo done", {
      isolation,
      jobId,
      timeoutSeconds: 60,
    });
    expect(outcome.kind).toBe("succeeded");
    expect(output).toMatchObject({ exitCode: 0, stdoutTail: "done\n" });
    expect(performance.now() - begun).toBeLessThan(5000);
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-06 a command that cleans up inside the grace period ends by itself", async () => {
    const lines = `trap 'sleep 0.4; echo cleaned; exit 9' TERM; echo up; while :; do sleep 0.05; done`;
    const { outcome, output } = await runShell(folder, lines, { isolation, timeoutSeconds: 0.3, killGraceSeconds: 10 });
    expect(outcome).toEqual({ kind: "timeout", message: "stopped at its time limit; it exited with code 9" });
    expect(output.stdoutTail).toBe("up\ncleaned\n");
  });

  test("SUBPROC-06 CM-6 a command that ignores TERM is killed after the grace period", async () => {
    const begun = performance.now();
    const lines = `trap '' TERM; while :; do sleep 0.05; done`;
    const { outcome, output } = await runShell(folder, lines, {
      isolation,
      timeoutSeconds: 0.3,
      killGraceSeconds: 0.4,
    });
    expect(outcome).toEqual({ kind: "timeout", message: "stopped at its time limit; ended by SIGKILL" });
    expect(output.signal).toBe("SIGKILL");
    expect(performance.now() - begun).toBeGreaterThan(650);
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  test("SUBPROC-20 what is forked while the job is being killed does not survive", async () => {
    const jobId = randomUUID();
    const lines = `trap '' TERM; while :; do (trap '' TERM; exec sleep 60) & sleep 0.005; done`;
    const { outcome } = await runShell(folder, lines, { isolation, jobId, timeoutSeconds: 0.7, killGraceSeconds: 0.2 });
    expect(outcome.kind).toBe("timeout");
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-23 a cancel at any moment of the start leaves no process and is never stuck", async () => {
    const jobId = randomUUID();
    const registry = await registryOf(folder, { task: await shellCommand(folder, "task", "sleep 60") }, isolation);
    for (let round = 0; round < 25; round += 1) {
      const { ctx, stop } = testContext({ jobId, killGraceSeconds: 2 });
      const running = executeCommand(registry, "task", {}, ctx);
      if (round === 0) stop("cancel");
      else setTimeout(() => stop("cancel"), round % 21);
      expect((await running).outcome).toEqual({ kind: "canceled" });
      expect(processesOf(jobId)).toEqual([]);
    }
  });

  test("CM-7 a lost lease kills at once, and a shutdown gives the job back", async () => {
    const registry = await registryOf(
      folder,
      { task: await shellCommand(folder, "task", "trap '' TERM; echo up; sleep 60 & wait; wait") },
      isolation,
    );
    const lost = testContext({ killGraceSeconds: 300 });
    const running = executeCommand(registry, "task", {}, lost.ctx);
    await until("it runs", () => lost.recorded.output.length > 0);
    lost.stop("lease-lost");
    expect((await running).outcome).toEqual({ kind: "lease_lost" });
    const down = testContext({ killGraceSeconds: 0 });
    const ending = executeCommand(registry, "task", {}, down.ctx);
    await until("it runs", () => down.recorded.output.length > 0);
    down.stop("shutdown");
    expect((await ending).outcome).toEqual({ kind: "released" });
  });

  test("SUBPROC-16 C4 CM-4 a command finds the listed variables and no descriptor of the worker", async () => {
    process.env.DATABASE_URL = "postgres://secret-canary";
    process.env.AUTH_SECRET = "auth-canary";
    const lines = `env; echo ---; tr '\\0' '\\n' </proc/$PPID/environ; echo ---; ls -l /proc/self/fd`;
    const { output } = await runShell(folder, lines, { isolation });
    delete process.env.DATABASE_URL;
    delete process.env.AUTH_SECRET;
    const [own = "", parent = "", descriptors = ""] = output.stdoutTail.split("---\n");
    const names = own
      .split("\n")
      .map((line) => line.split("=")[0])
      .filter((name) => name && !["PWD", "SHLVL", "_", "OLDPWD"].includes(name));
    expect(names.sort()).toEqual(["ATTEMPT", "HOME", "IDEMPOTENCY_KEY", "JOB_ID", "LANG", "PATH", "TMPDIR"]);
    expect(own + parent).not.toContain("canary");
    // Its own three pipes are sockets, too; a fourth would be the watcher's, or a connection of the worker's.
    expect(descriptors.match(/ (\d+) -> socket:/g)).toHaveLength(3);
  });

  test("C7 kill -9 of the worker leaves nothing of a tree of processes", { timeout: 20_000 }, async () => {
    const jobId = randomUUID();
    const lines = `setsid sleep 300 & sleep 300 & sh -c 'sleep 300 & wait' & echo started; wait`;
    const worker = await startWorker({ lines, isolation, jobId });
    await until("the tree is there", () => processesOf(jobId).length >= 5);
    worker.kill("SIGKILL");
    await until("all of it is gone", () => processesOf(jobId).length === 0, 10_000);
  });
});

async function startWorker({ lines, isolation, jobId }: { lines: string; isolation: string; jobId: string }) {
  const outfile = join(folder.root, "worker.mjs");
  const entry = join(import.meta.dirname, "test-worker.ts");
  const banner = { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' };
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    banner,
  });
  const registry = await registryOf(folder, { task: await shellCommand(folder, "task", lines) });
  const worker = spawn(process.execPath, [outfile, registry.path, folder.shared, isolation, jobId], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => worker.stdout.once("data", resolve));
  return worker;
}

test("SUBPROC-05 signals never go to a group that is unknown, our own, or gone", async () => {
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

test("SUBPROC-05 a process that cannot be started is a failure worth another attempt", async () => {
  const registry = await registryOf(folder, { task: await shellCommand(folder, "task", "true") }, "plain");
  const gone = { ...registry, launch: { ...registry.launch, runAs: null, prlimit: null }, workRoot: registry.workRoot };
  const { ctx } = testContext({ resolveProviderPath: () => Promise.reject(new Error()) });
  const broken = await executeCommand({ ...gone, workRoot: join(folder.root, "absent") }, "task", {}, ctx);
  expect(broken.outcome).toMatchObject({ kind: "failed", errorType: "temporary_resource", retryable: true });
});

test("SUBPROC-10 binary output neither breaks the job nor what is stored", async () => {
  const { outcome, output } = await runShell(folder, `head -c 4096 /dev/urandom; printf 'a\\000b\\377\\376' >&2`);
  expect(outcome.kind).toBe("succeeded");
  expect(output.stderrTail).toBe("a\ufffdb\ufffd\ufffd");
  expect(storable(output.stdoutTail)).toBe(output.stdoutTail);
});

test("SUBPROC-11 the last line without a newline and the states of a progress bar are kept", async () => {
  const { output } = await runShell(folder, `printf '\\rp 1%%\\rp 2%%' >&2; printf last`);
  expect(output.stdoutTail).toBe("last");
  expect(output.stderrTail).toBe("\rp 1%\rp 2%");
});

test("SUBPROC-13 arguments that are too large are refused before a process starts", async () => {
  const script = await writeProgram(folder, "bin/args", "#!/bin/sh\necho $#\n");
  const entry = { binary: script, env: { BIG: "{big}" }, placeholders: { big: { type: "text", max_length: 65_536 } } };
  const many = { binary: script, argv: Array(1000).fill("x".repeat(3000)) };
  const registry = await registryOf(folder, { entry, many, one: { binary: script, argv: ["x".repeat(200_000)] } });
  for (const key of ["many", "one"]) {
    const { ctx, recorded } = testContext();
    const { outcome } = await executeCommand(registry, key, {}, ctx);
    expect(outcome).toMatchObject({ kind: "failed", errorType: "invalid_input", retryable: false });
    expect(recorded.pids).toEqual([]);
  }
  const { outcome } = await executeCommand(registry, "entry", { big: "€".repeat(60_000) }, testContext().ctx);
  expect(outcome).toMatchObject({ errorType: "invalid_input", message: expect.stringContaining("larger than") });
  const withNul = await executeCommand(registry, "entry", { big: "a\0b" }, testContext().ctx);
  expect(withNul.outcome).toMatchObject({ errorType: "invalid_input", retryable: false });
});

test("SUBPROC-15 a command that does not read its input is judged by its exit code", async () => {
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

test("SUBPROC-18 a program that was exchanged after the worker started is not run", async () => {
  const registry = await registryOf(folder, { task: await shellCommand(folder, "swap", "echo good") });
  const path = await writeProgram(folder, "bin/swap", "#!/bin/sh\necho evil\n");
  const { chmod, rename, symlink } = await import("node:fs/promises");
  await chmod(path, 0o757);
  const writable = await executeCommand(registry, "task", {}, testContext().ctx);
  expect(writable.outcome).toMatchObject({ errorType: "command_not_allowed", retryable: false });
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

test("SUBPROC-21 a time limit beyond what setTimeout can hold does not fire at once", async () => {
  const { outcome } = await runShell(folder, "sleep 0.1", { timeoutSeconds: 3_000_000 });
  expect(outcome.kind).toBe("succeeded");
});

test("R-8 a gigabyte of output is drained, counted and kept as head and tail", { timeout: 30_000 }, async () => {
  const before = process.memoryUsage().rss;
  const size = 200 * 1024 * 1024;
  const { outcome, output } = await runShell(folder, `yes 0123456789abcde | head -c ${size}`);
  expect(outcome.kind).toBe("succeeded");
  expect(output.stdoutBytes).toBe(size);
  expect(output.droppedBytes).toBe(size - 256 * 1024);
  expect(output.stdoutTail.endsWith("0123456789abcde\n")).toBe(true);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
});

test.runIf(isRoot)("CM-6 as root a command runs as nobody, without privileges", async () => {
  const { output } = await runShell(
    folder,
    "id -u; ls -ld . | cut -c1-10; touch own && echo wrote; touch /var/lib/x || echo refused",
  );
  expect(output.stdoutTail).toBe("65534\ndrwx------\nwrote\nrefused\n");
});

test("CM-6 limits of the entry hold", async () => {
  const entry = {
    ...(await shellCommand(folder, "limited", "ulimit -c; ulimit -n; head -c 5000000 /dev/zero >big || echo full")),
    limits: { open_files: 64, file_size_mb: 1 },
  };
  const registry = await registryOf(folder, { entry });
  const { output } = await executeCommand(registry, "entry", {}, testContext().ctx);
  const expected = registry.isolation.includes("limits") ? "0\n64\nfull\n" : expect.stringMatching(/^0\n/);
  expect(output.stdoutTail).toEqual(expected);
});

test("a job's working folder is its own and is removed, whatever the job does to it", async () => {
  let seen = "";
  const lines = "pwd; mkdir -p a/b && touch a/b/c && chmod 0 a/b a; echo text > result.txt";
  const { output } = await runShell(folder, lines, {
    inspectFolder: async (path) => {
      seen = existsSync(join(path, "result.txt")) ? path : "";
    },
  });
  expect(output.stdoutTail).toBe(`${seen}\n`);
  expect(existsSync(seen)).toBe(false);
  expect(readdirSync(join(folder.shared, "work"))).toEqual([]);
});

test("a second process of the same group of jobs is not touched by the end of the first", async () => {
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
