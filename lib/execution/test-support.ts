import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executeCommand } from "./execute-command";
import { loadCommandRegistry, type RegistryOptions } from "./registry/load";
import type { CommandRegistry } from "./registry/registry";
import type { Execution, LogLevel, OutputStream, RunContext, StepStore, StopReason } from "./types";

export interface TestFolder {
  /** Replaces `jobs/`: registry and scripts. */
  readonly jobs: string;
  readonly shared: string;
  readonly root: string;
  remove(): Promise<void>;
}

/** Makes a folder below the temporary folder which every user may enter. */
export async function makeTestFolder(): Promise<TestFolder> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "leasehold execution ")));
  await chmod(root, 0o755);
  const jobs = join(root, "jobs");
  const shared = join(root, "shared");
  for (const folder of [jobs, shared]) {
    await mkdir(folder);
    await chmod(folder, 0o755);
  }
  return { root, jobs, shared, remove: () => rm(root, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Writes an executable file into the jobs folder and returns its path. */
export async function writeProgram(folder: TestFolder, name: string, text: string): Promise<string> {
  const path = join(folder.jobs, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

/** Returns a registry entry that runs a shell script, named like the entry. */
export async function shellCommand(folder: TestFolder, key: string, lines: string): Promise<Record<string, unknown>> {
  return { binary: await writeProgram(folder, `bin/${key}`, `#!/bin/sh\n${lines}\n`) };
}

export async function writeRegistry(folder: TestFolder, entries: Record<string, unknown>): Promise<string> {
  const path = join(folder.jobs, "commands.json");
  await writeFile(path, JSON.stringify(entries));
  await chmod(path, 0o644);
  return path;
}

export async function registryOf(
  folder: TestFolder,
  entries: Record<string, unknown>,
  isolation: RegistryOptions["isolation"] = "best",
): Promise<CommandRegistry> {
  return loadCommandRegistry(await writeRegistry(folder, entries), { sharedFolder: folder.shared, isolation });
}

export interface RecordedRun {
  readonly output: { stream: OutputStream; text: string }[];
  readonly progress: { percent: number; message: string | null }[];
  readonly logs: { level: LogLevel; text: string }[];
  readonly pids: number[];
}

export interface TestContext {
  readonly ctx: RunContext;
  readonly recorded: RecordedRun;
  stop(reason: StopReason): void;
}

export function testContext(changes: Partial<RunContext> = {}): TestContext {
  const abort = new AbortController();
  const recorded: RecordedRun = { output: [], progress: [], logs: [], pids: [] };
  const ctx: RunContext = {
    jobId: "0190a000-0000-7000-8000-000000000001",
    tenantId: "0190a000-0000-7000-8000-000000000002",
    attemptNo: 1,
    idempotencyKey: "0190a000-0000-7000-8000-000000000001:1",
    payload: {},
    signal: abort.signal,
    killGraceSeconds: 1,
    secrets: [],
    onOutput: (stream, text) => recorded.output.push({ stream, text }),
    onProgress: (percent, message) => recorded.progress.push({ percent, message }),
    onLog: (level, text) => recorded.logs.push({ level, text }),
    onSpawn: (pid) => recorded.pids.push(pid),
    openProviderPath: () => Promise.reject(new Error("no providers here")),
    ...changes,
  };
  return { ctx, recorded, stop: (reason) => abort.abort(reason) };
}

export interface RunOptions extends Partial<RunContext> {
  readonly args?: unknown;
  readonly isolation?: RegistryOptions["isolation"];
}

/** Runs one shell script as a command, from registry to outcome. */
export async function runShell(folder: TestFolder, lines: string, options: RunOptions = {}): Promise<Execution> {
  const { args, isolation, ...changes } = options;
  const registry = await registryOf(folder, { task: await shellCommand(folder, "task", lines) }, isolation);
  return executeCommand(registry, "task", args ?? {}, testContext(changes).ctx);
}

/** Polls until `isTrue`; fails after `withinMs`. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`still not so after ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the live processes with this job's id in their environment. */
export function processesOf(jobId: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && carriesJob(pid, jobId));
}

function carriesJob(pid: number, jobId: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(`JOB_ID=${jobId}`);
  } catch {
    return false;
  }
}

export const noEvents = () => Promise.reject(new Error("no events here"));

/** A step store in memory. */
export function memorySteps(known: ReadonlyMap<string, unknown> = new Map()) {
  const stored = new Map(known);
  const steps: StepStore = {
    find: async (name) => (stored.has(name) ? { result: stored.get(name) } : null),
    store: async (name, result) => void stored.set(name, result),
  };
  return { steps, stored };
}
