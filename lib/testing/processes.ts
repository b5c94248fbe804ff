import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isUnavailable } from "@/lib/db";
import { processSecrets } from "@/lib/env/process-secrets.mjs";
import { pipeVariables, SECRET_NAMES, sendSecrets } from "@/lib/env/secret-source.mjs";
import type { TestDatabase } from "./database";

const ROOT = process.cwd();
const READY_WITHIN_MS = 60_000;
/** Descriptor of the secrets pipe in a child. */
const SECRETS_PIPE = 4;
const run = promisify(execFile);

export type ProcessName = "web" | "worker" | "scheduler";

export interface StartOptions {
  readonly database: Pick<TestDatabase, "adminUrl" | "secret">;
  readonly env?: Readonly<Record<string, string>>;
  /** A standard output that accepts nothing: of a full disk, or without a reader. */
  readonly stdout?: "full" | "unread";
  /** The process can report the pauses of its event loop; see `longestHold`. */
  readonly probed?: boolean;
}

export interface TestProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Port of the pages, or of /livez and /readyz for processes that report one. */
  readonly port: number;
  readonly url: string;
  readonly workerId: string;
  /** Everything the process wrote so far. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /**
   * Returns the longest pause of the event loop since the last call, in milliseconds of processor time. Only for a
   * process started with `probed`.
   */
  longestHold(): Promise<number>;
  /** Settles when the process has exited. */
  readonly exited: Promise<ExitedProcess>;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<ExitedProcess>;
}

export interface ExitedProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const started = new Set<ChildProcess>();
let built: Promise<unknown> | undefined;
let builtWithPages = false;

/**
 * Starts one of the processes from the test build against a test database, and waits until it is ready. Processes that
 * still run after the test file are killed.
 */
export async function startProcess(
  name: ProcessName,
  { database, env = {}, stdout, probed = false }: StartOptions,
): Promise<TestProcess> {
  await ensureTestBuild({ pages: name === "web" });
  const program = path.join(ROOT, "dist/test", `${name}.mjs`);
  const probe = probed ? ["--import", path.join(ROOT, "lib/testing/measure/turn-probe.mjs")] : [];
  return superviseChild(
    ["--enable-source-maps", ...probe, program],
    environmentOf(name, database, { PORT: "0", ...env }),
    stdout,
  );
}

/**
 * Returns the environment of one process, with the secrets that it needs, derived as the supervisor derives them.
 * DATABASE_URL and LEASEHOLD_SECRET in `env` replace those of the database.
 */
export function environmentOf(
  name: ProcessName,
  { adminUrl, secret }: StartOptions["database"],
  env: Readonly<Record<string, string>> = {},
): NodeJS.ProcessEnv {
  const { values } = processSecrets(name, { DATABASE_URL: adminUrl, LEASEHOLD_SECRET: secret, ...env });
  const others = Object.entries(env).filter(([setting]) => !SECRET_NAMES.includes(setting));
  return { ...plainEnvironment(), ...Object.fromEntries(others), ...values };
}

/**
 * Starts any Node program that reports over its IPC channel when it is ready. It gets the secrets in `settings` on a
 * pipe.
 */
export async function superviseChild(
  args: readonly string[],
  settings: NodeJS.ProcessEnv,
  stdout?: StartOptions["stdout"],
): Promise<TestProcess> {
  const full = stdout === "full" ? openSync("/dev/full", "w") : undefined;
  const isSecret = ([name]: [string, unknown]) => SECRET_NAMES.includes(name);
  const secrets = Object.fromEntries(Object.entries(settings).filter(isSecret)) as Record<string, string>;
  const env = Object.fromEntries(Object.entries(settings).filter((setting) => !isSecret(setting)));
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...env, ...pipeVariables(SECRETS_PIPE) } as unknown as NodeJS.ProcessEnv,
    stdio: ["ignore", full ?? "pipe", "pipe", "ipc", "pipe"],
  });
  sendSecrets(child, SECRETS_PIPE, { values: secrets, files: [] });
  if (full !== undefined) closeSync(full);
  started.add(child);
  let output = "";
  for (const stream of [stdout === "unread" ? null : child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const exited = once(child, "exit").then(([code, signal]) => {
    started.delete(child);
    return { code, signal } as ExitedProcess;
  });
  const ready = await Promise.race([
    messageOf<{ port?: number; workerId?: string }>(child, "ready"),
    exited.then(({ code }) => Promise.reject(new Error(`ended with ${code} before it was ready:\n${output}`))),
    sleep(READY_WITHIN_MS, null, { ref: false }).then(() => Promise.reject(new Error(`not ready in time:\n${output}`))),
  ]);
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  const stop = () => {
    signal("SIGTERM");
    return exited;
  };
  const longestHold = async () => {
    const answer = messageOf<{ longestMs: number }>(child, "longest-turn");
    child.send({ type: "longest-turn" });
    return (await answer).longestMs;
  };
  const port = ready.port ?? 0;
  const url = `http://127.0.0.1:${port}`;
  const pid = child.pid ?? 0;
  return {
    child,
    pid,
    port,
    url,
    workerId: ready.workerId ?? "",
    output: () => output,
    signal,
    longestHold,
    exited,
    stop,
  };
}

/** Builds the test build if the sources have changed. */
export function ensureTestBuild({ pages }: { pages: boolean }): Promise<unknown> {
  if (!built || (pages && !builtWithPages)) {
    builtWithPages = pages;
    const args = [path.join(ROOT, "scripts/build.mjs"), "--test-build", ...(pages ? [] : ["--processes-only"])];
    built = run(process.execPath, args, { cwd: ROOT, maxBuffer: 1e8 });
  }
  return built;
}

/** Returns the environment of a test process: the machine's own variables, and none that configure Leasehold. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG, npm_execpath } = process.env;
  return {
    PATH,
    HOME,
    TMPDIR,
    LANG,
    npm_execpath,
    NODE_ENV: "production",
    LEASEHOLD_TEST_BUILD: "1",
    // The tests also run where the kernel has no user namespaces.
    COMMANDS_UNSAFE_IN_PRODUCTION: "true",
    LOG_FORMAT: "json",
  };
}

/**
 * Waits until `condition` returns something other than false, null or undefined, and returns it; fails after
 * `withinMs`. A database without a free connection does not end the wait.
 */
export async function waitFor<T>(
  condition: () => Promise<T> | T,
  { withinMs = 10_000, what = "the condition" } = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const value = await Promise.resolve(condition()).catch((error: unknown) => {
      if (!isUnavailable(error) || Date.now() > deadline) throw error;
      return null;
    });
    if (value !== false && value !== null && value !== undefined) return value;
    if (Date.now() > deadline) throw new Error(`${what} did not come true within ${withinMs} ms`);
    await sleep(25);
  }
}

function messageOf<Message>(child: ChildProcess, type: string): Promise<Message> {
  return new Promise((resolve) => {
    const hear = (message: Message & { type?: string }) => {
      if (message.type !== type) return;
      child.off("message", hear);
      resolve(message);
    };
    child.on("message", hear);
  });
}

/** Kills the processes started by tests that are still running. */
export async function killStarted(): Promise<void> {
  const ends = [...started].map((child) => once(child, "exit"));
  for (const child of started) child.kill("SIGKILL");
  await Promise.all(ends);
}
