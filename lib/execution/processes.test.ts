import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasProc } from "@/lib/testing/installation";
import { executeCommand } from "./execute-command";
import {
  makeTestFolder,
  processesOf,
  registryOf,
  runShell,
  shellCommand,
  type TestFolder,
  testContext,
  until,
} from "./test-support";

const MODES = ["best", "user", "group", "plain"] as const;

const DEEP = `name=$(printf '%0200d' 0); for n in $(seq 60); do mkdir $name && cd -P $name; done; echo text >file`;

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

const foldersOf = (pid = 0) =>
  readdirSync(join(folder.shared, "work")).filter((name) => name.startsWith("job-") && name.includes(`-${pid}-`));

describe.runIf(hasProc).each(MODES)("with isolation %s", (isolation) => {
  test("SUBPROC-01 a timeout leaves no process of the group", async () => {
    const jobId = randomUUID();
    const lines = "sleep 300 & sleep 300 & sleep 300; true";
    const { outcome } = await runShell(folder, lines, { isolation, jobId, timeoutSeconds: 0.4, killGraceSeconds: 0.3 });
    expect(outcome.kind).toBe("timeout");
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-01 CM-5 processes that left the group and the session are killed too", async () => {
    const jobId = randomUUID();
    const lines = `setsid sh -c 'trap "" TERM HUP; sleep 300; sleep 300' >/dev/null 2>&1 & sleep 0.2; echo started`;
    const { output } = await runShell(folder, lines, { isolation, jobId });
    expect(output.stdoutTail).toBe("started\n");
    expect(processesOf(jobId)).toEqual([]);
  });

  test.each([
    ["", {}],
    [" with unread input", { stdin: "payload" }],
  ])("SUBPROC-03 children that outlive a successful command%s do not make it fail", async (_, input) => {
    const lines = "setsid sleep 60 & sleep 60 & setsid sleep 60 >/dev/null 2>&1 & echo done";
    const task = { ...(await shellCommand(folder, "task", lines)), ...input };
    const registry = await registryOf(folder, { task }, isolation);
    const one = async () => {
      const jobId = randomUUID();
      const { outcome, output } = await executeCommand(registry, "task", {}, testContext({ jobId }).ctx);
      expect({ outcome, exitCode: output.exitCode }).toMatchObject({ outcome: { kind: "succeeded" }, exitCode: 0 });
      expect(processesOf(jobId)).toEqual([]);
    };
    await Promise.all(Array.from({ length: 8 }, one));
  });

  test("CM-6 a command killed by the kernel or another process is reported as killed, not with an exit code", async () => {
    const { outcome, output } = await runShell(folder, "kill -KILL $$", { isolation });
    expect(outcome).toMatchObject({ kind: "failed", errorType: "temporary_resource" });
    expect(output.signal).toBe("SIGKILL");
    expect(output.exitCode).toBeUndefined();
  });

  test("SUBPROC-03 a grandchild that keeps the output open does not delay the end of the job", async () => {
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

  test("SUBPROC-03 processes that a command leaves are killed a second after its end, even while they send frames", async () => {
    const jobId = randomUUID();
    const sends = `while :; do echo '{"type":"progress","percent":1}' >&3; sleep 0.2; done`;
    const lines = `exec >/dev/null 2>&1; setsid sh -c '${sends.replaceAll("'", `'"'"'`)}' & sleep 0.3`;
    const begun = performance.now();
    const { outcome, output } = await runShell(folder, lines, { isolation, jobId, timeoutSeconds: 15 });
    expect([outcome.kind, output.exitCode]).toEqual(["succeeded", 0]);
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-06 a command that cleans up within the grace period is not killed", async () => {
    // The time limit also covers the start of the isolation, which takes a few hundred milliseconds on a busy machine.
    const lines = `trap 'sleep 0.4; echo cleaned; exit 9' TERM; echo up; while :; do sleep 0.05; done`;
    const { outcome, output } = await runShell(folder, lines, { isolation, timeoutSeconds: 1.5, killGraceSeconds: 10 });
    expect(outcome).toEqual({ kind: "timeout", message: "stopped at its time limit; it exited with code 9" });
    expect(output.stdoutTail).toBe("up\ncleaned\n");
  });

  test("SUBPROC-06 CM-6 a command that ignores TERM is killed after the grace period", async () => {
    const begun = performance.now();
    const lines = `trap '' TERM; while :; do sleep 0.05; done`;
    const { outcome, output } = await runShell(folder, lines, {
      isolation,
      timeoutSeconds: 1.5,
      killGraceSeconds: 0.4,
    });
    expect(outcome).toEqual({ kind: "timeout", message: "stopped at its time limit; ended by SIGKILL" });
    expect(output.signal).toBe("SIGKILL");
    expect(performance.now() - begun).toBeGreaterThan(1850);
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  test("SUBPROC-20 processes forked while the job is being killed are killed too", async () => {
    const jobId = randomUUID();
    const lines = `trap '' TERM; while :; do (trap '' TERM; exec sleep 60) & sleep 0.005; done`;
    const { outcome } = await runShell(folder, lines, { isolation, jobId, timeoutSeconds: 0.7, killGraceSeconds: 0.2 });
    expect(outcome.kind).toBe("timeout");
    expect(processesOf(jobId)).toEqual([]);
  });

  test("SUBPROC-23 a cancel at any moment of the start leaves no process and never hangs", async () => {
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

  test("CM-7 a lost lease kills at once, and a shutdown releases the job", async () => {
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

  test("SUBPROC-16 C4 CM-4 a command sees the listed variables and no descriptor of the worker", async () => {
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
    expect(names.sort()).toEqual([
      "ATTEMPT",
      "HOME",
      "IDEMPOTENCY_KEY",
      "JOB_ID",
      "LANG",
      "LEASEHOLD_CHAIN",
      "PATH",
      "TMPDIR",
    ]);
    expect(own + parent).not.toContain("canary");
    // A fourth pipe would be the watcher's. Over a socket, a command could send an open descriptor to the worker.
    expect(descriptors.match(/ \d+ -> .*\.pipe-\d+ \(deleted\)$/gm)).toHaveLength(3);
    expect(descriptors).not.toContain("socket:");
  });

  test("CM-4 a command inherits no descriptor that its worker was started with", { timeout: 30_000 }, async () => {
    const canary = join(folder.root, "canary");
    await writeFile(canary, "canary");
    const lines = `ls -l /proc/self/fd; for fd in ${STRAYS.join(" ")}; do cat /proc/self/fd/$fd; done; echo end`;
    const worker = await startWorker({ lines, isolation, jobId: randomUUID(), strays: canary });
    await until("the command has ended", () => worker.printed().includes("end"), 20_000);
    expect(worker.printed()).not.toContain("canary");
    // Its own three pipes, and the one of the listing program.
    expect(worker.printed().match(/ -> (?!\/dev\/null)/g)?.length).toBeLessThanOrEqual(4);
  });

  test("C7 kill -9 of the worker leaves nothing of a tree of processes, nor of a deep working folder after the next start", {
    timeout: 30_000,
  }, async () => {
    const jobId = randomUUID();
    const lines = `(${DEEP}); setsid sleep 300 & sleep 300 & sh -c 'sleep 300 & wait' & echo started; wait`;
    const worker = await startWorker({ lines, isolation, jobId });
    await until("the tree is there", () => processesOf(jobId).length >= 5);
    worker.kill("SIGKILL");
    await until("all of it is gone", () => processesOf(jobId).length === 0, 10_000);
    expect(foldersOf(worker.pid)).toHaveLength(1);
    await registryOf(folder, {}, isolation);
    await until("its folder is removed", () => foldersOf(worker.pid).length === 0, 10_000);
  });
});

interface WorkerPlan {
  readonly lines: string;
  readonly isolation: string;
  readonly jobId: string;
  /** A file that the worker is started with, at the descriptors `STRAYS`. */
  readonly strays?: string;
}

/** Above the first free number, up to which Node keeps inherited descriptors from its children. */
const STRAYS = [20, 63, 251, 600];

async function startWorker({ lines, isolation, jobId, strays }: WorkerPlan) {
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
  const file = strays === undefined ? null : await open(strays);
  const holes = Array.from({ length: file ? Math.max(...STRAYS) - 2 : 0 }, (_, at) =>
    file && STRAYS.includes(at + 3) ? file.fd : "ignore",
  );
  const worker = spawn(process.execPath, [outfile, registry.path, folder.shared, isolation, jobId], {
    stdio: ["ignore", "pipe", "inherit", ...holes],
  });
  let printed = "";
  worker.stdout?.on("data", (text) => {
    printed += text;
  });
  await until("it prints", () => printed !== "", 20_000);
  await file?.close();
  return Object.assign(worker, { printed: () => printed });
}
