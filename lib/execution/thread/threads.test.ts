import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryArtifacts } from "../artifacts/memory-artifacts.fixture";
import { ReleasedError } from "../errors";
import { executeHandler } from "../execute-handler";
import type { HandlerRunContext } from "../handler/run-context";
import { openInside } from "../paths";
import type { CommandRegistry } from "../registry/registry";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  registryOf,
  shellCommand,
  type TestFolder,
  testContext,
  until,
} from "../test-support";
import type { StartThread } from "./host";
import { threadHandlers } from "./thread-handlers.fixture";

let folder: TestFolder;
let registry: CommandRegistry;
let entry: string;
const threads: Worker[] = [];

beforeAll(async () => {
  folder = await makeTestFolder();
  entry = join(folder.root, "thread.mjs");
  await build({
    entryPoints: ["lib/execution/thread/thread-handlers.fixture.ts"],
    outfile: entry,
    bundle: true,
    platform: "node",
    format: "esm",
    define: { "process.env.IS_THREAD": "1" },
    banner: { js: 'import { createRequire as r } from "node:module"; const require = r(import.meta.url);' },
  });
  const frames = (...lines: string[]) => lines.map((line) => `echo '${line}' >&3`).join("\n");
  const rows = [0, 1, 2].map((n) => `{"type":"row","value":{"n":${n}}}`);
  registry = await registryOf(folder, {
    echo: await shellCommand(folder, "echo", frames('{"type":"result","value":"heard"}')),
    rows: await shellCommand(folder, "rows", frames(...rows, '{"type":"result","value":3}')),
    broken: await shellCommand(folder, "broken", "exit 7"),
  });
}, 60_000);
afterAll(() => folder.remove());

const startThread: StartThread = async (workerData) => {
  const resourceLimits = { maxOldGenerationSizeMb: 64 };
  const thread = new Worker(entry, { workerData, stdout: true, stderr: true, env: {}, resourceLimits });
  threads.push(thread);
  return thread;
};

function run(
  key: string,
  changes: Partial<HandlerRunContext> = {},
  { isShipped = false, publishEvent = noEvents as HandlerRunContext["publishEvent"] } = {},
) {
  const handler = threadHandlers.get(key);
  if (!handler) throw new Error("no such handler");
  const context = testContext({ secrets: ["hunter2-secret"], killGraceSeconds: 0.3, ...changes });
  const { steps, stored } = memorySteps();
  const transaction = () => Promise.reject(new Error("no database here"));
  const execution = executeHandler(
    { ...handler, isShipped },
    {
      ...context.ctx,
      registry,
      transaction,
      publishEvent,
      steps,
      startThread,
    },
  );
  return { ...context, stored, execution };
}

const isGone = (thread: Worker | undefined) => thread?.threadId === -1;

describe("a handler in a thread", { timeout: 60_000 }, () => {
  test("gets its parsed payload and reports like any other handler, with secrets masked", async () => {
    const { execution, recorded, ctx } = run("all", { payload: { at: "2026-01-01T00:00:00Z" } });
    const { outcome, output, children } = await execution;
    const { jobId, tenantId, attemptNo: attempt, idempotencyKey } = ctx;
    expect(outcome).toEqual({
      kind: "succeeded",
      result: { at: "2026-01-01T00:00:00.000Z", jobId, tenantId, attempt, idempotencyKey, leak: "[redacted]" },
    });
    expect(recorded.progress).toEqual([{ percent: 40, message: "nearly" }]);
    expect(recorded.logs).toEqual([
      { level: "warn", text: "half with [redacted]" },
      { level: "warn", text: expect.stringContaining("above was changed: numbers that JSON readers would round") },
      { level: "warn", text: "The result was changed: secrets are masked." },
    ]);
    expect(output.stdoutTail).toBe("printed [redacted]\n");
    expect(children).toEqual([{ definitionKey: "next", payload: { n: 1 } }]);
    expect(isGone(threads.at(-1))).toBe(true);
  });

  test("reads a provider's file opened by its worker", async () => {
    const data = join(folder.root, "data");
    await mkdir(data);
    await writeFile(join(data, "in.txt"), "contents", { mode: 0o644 });
    const openProviderPath = (_id: string, relative: string) =>
      openInside({ root: data, relative, allowedRoots: [folder.root] });
    expect((await run("file", { openProviderPath }).execution).outcome).toEqual({
      kind: "succeeded",
      result: { text: "contents", absent: "the path does not exist" },
    });
  });

  test("stores artifacts through its worker, with secrets masked and each name once", async () => {
    const kept = memoryArtifacts();
    const { outcome } = await run("artifacts", { artifacts: kept.store }).execution;
    const size = "for [redacted]".length;
    expect(outcome).toMatchObject({
      kind: "succeeded",
      result: { text: { name: "a.txt", size }, twice: 'artifact "rows" was begun twice in one attempt' },
    });
    expect(kept.files.get("a.txt")?.bytes.toString()).toBe("for [redacted]");
    const { bytes, contentType } = kept.files.get("rows") ?? {};
    expect([contentType, bytes?.equals(Buffer.alloc(600_000, 7))]).toEqual(["application/x-rows", true]);
  });

  test("is released when its event is refused because its tenant is suspended", async () => {
    const publishEvent = () => Promise.reject(new ReleasedError("the tenant is suspended"));
    const { execution } = run("publish", {}, { publishEvent });
    expect((await execution).outcome).toEqual({ kind: "released", reason: "the tenant is suspended" });
  });

  test("logs once per kind how a log line's context was changed", async () => {
    const { execution, recorded } = run("contexts");
    await execution;
    expect(recorded.logs.filter(({ level }) => level === "warn").map(({ text }) => text)).toEqual([
      expect.stringMatching(/context .* changed: numbers that JSON does not have are null/),
      expect.stringMatching(/context .* changed: numbers that JSON readers would round/),
    ]);
  });

  test("runs its steps in the thread, and the worker stores them", async () => {
    const { execution, stored } = run("steps");
    expect((await execution).outcome).toEqual({ kind: "succeeded", result: [{ n: 1 }, null] });
    expect([...stored]).toEqual([
      ["a", { n: 1 }],
      ["b", null],
    ]);
  });

  test("runs commands and reads rows at its own pace", async () => {
    expect((await run("command").execution).outcome).toEqual({ kind: "succeeded", result: "heard" });
    const seen = [{ n: 0 }, { n: 1 }, { n: 2 }];
    expect((await run("rows").execution).outcome).toEqual({ kind: "succeeded", result: { seen, result: 3 } });
    expect((await run("twoRows").execution).outcome).toEqual({ kind: "succeeded", result: seen.slice(0, 2) });
  });

  test.each([
    ["broken", { kind: "failed", errorType: "unknown", message: "exit code 7" }],
    ["stepFails", { kind: "failed", errorType: "not_found", retryable: false, message: "no such thing" }],
    ["stepTwice", { kind: "failed", errorType: "internal", retryable: false }],
    ["transaction", { kind: "failed", errorType: "internal", retryable: false }],
    ["snooze", { kind: "snoozed", seconds: 60, reason: "later" }],
    ["limited", { kind: "failed", errorType: "rate_limit", retryAfterSeconds: 30 }],
    ["typeError", { kind: "failed", errorType: "internal", message: expect.stringContaining("reading 'n'") }],
    ["uncaught", { kind: "failed", errorType: "internal", message: "an uncaught error: out of nowhere" }],
    ["exits", { kind: "failed", errorType: "internal", message: "the thread ended by itself, with code 3" }],
    ["hungry", { kind: "failed", errorType: "temporary_resource", message: "the thread ran out of memory" }],
  ])("that ends badly (%s) reports the reason", async (key, expected) => {
    expect((await run(key).execution).outcome).toMatchObject(expected);
    expect(isGone(threads.at(-1))).toBe(true);
  });

  test.each(["typeError", "uncaught"])(
    "that fails unexpectedly (%s) gives its stack only to readers who may see it",
    async (key) => {
      const faults: string[] = [];
      const onFault = (stack: string) => void faults.push(stack);
      await run(key, { onFault }).execution;
      expect(faults).toEqual([]);
      const { outcome } = await run(key, { onFault }, { isShipped: true }).execution;
      expect(faults).toEqual([expect.stringMatching(/^(?:Type)?Error: .+\n {4}at .*thread\.mjs:\d/)]);
      expect(outcome).not.toHaveProperty("stack");
    },
  );

  test.each([
    ["cancel", { kind: "canceled" }],
    ["shutdown", { kind: "released" }],
    ["lease-lost", { kind: "lease_lost" }],
  ] as const)(
    "that computes without a pause is ended on %s, and the worker's event loop stays free",
    async (reason, expected) => {
      const { execution, recorded, stop } = run("burn");
      await until("it has begun", () => recorded.progress.length > 0, 20_000);
      let turns = 0;
      const timer = setInterval(() => (turns += 1), 10);
      await until("the loop goes on", () => turns > 5);
      clearInterval(timer);
      const stoppedAt = performance.now();
      stop(reason);
      expect((await execution).outcome).toMatchObject(expected);
      expect(performance.now() - stoppedAt).toBeLessThan(5000);
      expect(isGone(threads.at(-1))).toBe(true);
    },
  );

  test("that computes past its time limit is ended", async () => {
    const { outcome } = await run("burn", { timeoutSeconds: 2 }).execution;
    expect(outcome).toMatchObject({ kind: "timeout" });
  });

  test("that listens learns the reason to stop", async () => {
    const { execution, recorded, stop } = run("polite", { killGraceSeconds: 30 });
    await until("it has begun", () => recorded.progress.length > 0, 20_000);
    stop("cancel");
    expect((await execution).outcome).toEqual({ kind: "canceled" });
  });

  test("is done even if it leaves timers behind", async () => {
    expect((await run("lingers").execution).outcome).toEqual({ kind: "succeeded", result: "done" });
    expect(isGone(threads.at(-1))).toBe(true);
  });

  test("throttles its progress, and the last one counts", async () => {
    const { execution, recorded } = run("progress");
    await execution;
    expect(recorded.progress.length).toBeLessThan(1000);
    expect(recorded.progress.at(-1)).toEqual({ percent: 100, message: "done" });
  });

  test("SUBPROC-16 sees nothing of the worker's environment", async () => {
    expect((await run("environment").execution).outcome).toEqual({ kind: "succeeded", result: [] });
  });
});
