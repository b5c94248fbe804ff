import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { TenantTransaction } from "@/lib/db";
import { hasProc } from "@/lib/testing/installation";
import { defineJob, type HandlerContext } from "./define-job";
import { AttemptLostError, CommandFailedError, NonRetryableError, RateLimitedError } from "./errors";
import { executeHandler } from "./execute-handler";
import type { HandlerRunContext } from "./handler/run-context";
import type { CommandRegistry } from "./registry/registry";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  processesOf,
  registryOf,
  shellCommand,
  type TestContext,
  type TestFolder,
  testContext,
  until,
  writeProgram,
} from "./test-support";

let folder: TestFolder;
let registry: CommandRegistry;
beforeAll(async () => {
  folder = await makeTestFolder();
  await writeProgram(
    folder,
    "scripts/rows.mjs",
    `import { writeSync } from "node:fs";
     const count = Number(process.argv[2].slice(8));
     for (let n = 0; n < count; n += 1) writeSync(3, JSON.stringify({ type: "row", value: { n, pad: "p".repeat(1000) } }) + "\\n");
     writeSync(3, JSON.stringify({ type: "result", value: { count } }) + "\\n");
     console.log("wrote", count);`,
  );
  registry = await registryOf(folder, {
    rows: { script: "scripts/rows.mjs", argv: ["--count={count}"], placeholders: { count: { type: "int" } } },
    sleeper: await shellCommand(folder, "sleeper", "echo up; sleep 300 & sleep 300"),
    broken: await shellCommand(folder, "broken", "echo bad thing >&2; exit 7"),
    badrow: {
      ...(await shellCommand(
        folder,
        "badrow",
        `echo '{"type":"row"' >&3; head -c 70000 /dev/zero | tr '\\0' x | sed 's/^/{"type":"row","value":"/;s/$/"}/' >&3`,
      )),
    },
  });
});
afterAll(() => folder.remove());

const noTransactions = <T>(_fn: (tx: TenantTransaction) => Promise<T>): Promise<T> =>
  Promise.reject(new Error("no database here"));

function handlerRun(
  run: (ctx: HandlerContext<{ n: number }>) => Promise<unknown>,
  changes: Partial<HandlerRunContext> = {},
) {
  const job = defineJob({ key: "test", schema: z.strictObject({ n: z.int() }), run });
  const context: TestContext = testContext({ payload: { n: 1 }, killGraceSeconds: 0.3, ...changes });
  const execution = executeHandler(job, {
    registry,
    transaction: noTransactions,
    publishEvent: noEvents,
    steps: memorySteps().steps,
    ...changes,
    ...context.ctx,
  });
  return { ...context, execution };
}

test("a handler gets its parsed payload and reports through its context", async () => {
  const { execution, recorded } = handlerRun(
    async (ctx) => {
      ctx.progress(50.4, "half with hunter2-secret");
      ctx.log("plain");
      ctx.log("warn", "with hunter2-secret", { password: "x12345" });
      return { n: ctx.payload.n, attempt: ctx.attempt, key: ctx.idempotencyKey, leak: "hunter2-secret" };
    },
    { secrets: ["hunter2-secret"] },
  );
  expect((await execution).outcome).toEqual({
    kind: "succeeded",
    result: { n: 1, attempt: 1, key: "0190a000-0000-7000-8000-000000000001:1", leak: "[redacted]" },
  });
  expect(recorded.progress).toEqual([{ percent: 50, message: "half with [redacted]" }]);
  expect(recorded.logs).toEqual([
    { level: "info", text: "plain" },
    { level: "warn", text: "with [redacted]" },
    { level: "warn", text: "The result was changed: secrets are masked." },
  ]);
});

test("SECRETS-06 a payload that violates the schema fails permanently, without its values in the message", async () => {
  const { execution } = handlerRun(async () => null, { payload: { n: "topsecret", "x-token": "abc" } });
  const { outcome } = await execution;
  expect(outcome).toMatchObject({ kind: "failed", errorType: "validation" });
  expect(JSON.stringify(outcome)).not.toContain("topsecret");
  expect(outcome).toMatchObject({ message: expect.stringContaining("/n") });
});

test.each([
  [new NonRetryableError("never"), { errorType: "unknown", retryable: false, message: "never" }],
  [new RateLimitedError(30), { errorType: "rate_limit", retryAfterSeconds: 30 }],
  [Object.assign(new Error("connect"), { code: "ECONNREFUSED" }), { errorType: "transient_network" }],
  [Object.assign(new Error("no file"), { code: "ENOENT" }), { errorType: "not_found" }],
  [Object.assign(new Error("db"), { name: "DatabaseError", kind: "unavailable" }), { errorType: "database" }],
  [
    Object.assign(new Error("db"), { name: "DatabaseError", kind: "invalid" }),
    { errorType: "database", retryable: false },
  ],
  [new TypeError("undefined is not a function"), { errorType: "internal" }],
  [new Error("hunter2-secret"), { errorType: "unknown", message: "[redacted]" }],
  ["only text", { errorType: "unknown", message: "only text" }],
  [undefined, { errorType: "unknown", message: "the handler threw something that is no error" }],
])("an exception of a handler becomes an error class: %s", async (thrown, expected) => {
  const { execution } = handlerRun(() => Promise.reject(thrown), { secrets: ["hunter2-secret"] });
  const { outcome } = await execution;
  expect(outcome).toMatchObject({ kind: "failed", ...expected });
  expect(JSON.stringify(outcome)).not.toContain("hunter2");
});

test("a lost lease that the handler encounters is reported as such", async () => {
  const transaction = () => Promise.reject(new AttemptLostError());
  const { execution } = handlerRun((ctx) => ctx.transaction(async () => 1), { transaction });
  expect((await execution).outcome).toEqual({ kind: "lease_lost" });
});

test("SUBPROC-21 a handler that never settles is abandoned after timeout and grace, and can do nothing afterwards", async () => {
  let late: HandlerContext<{ n: number }> | undefined;
  const { execution } = handlerRun(
    (ctx) => {
      late = ctx;
      return new Promise(() => undefined);
    },
    { timeoutSeconds: 0.2 },
  );
  const begun = performance.now();
  expect((await execution).outcome).toMatchObject({
    kind: "timeout",
    message: expect.stringContaining("was abandoned"),
  });
  expect(performance.now() - begun).toBeGreaterThan(450);
  expect(() => late?.progress(1)).toThrow(/has ended/);
  expect(() => late?.log("x")).toThrow(/has ended/);
  expect(() => late?.command("rows", { count: 1 })).toThrow(/has ended/);
  await expect(late?.transaction(async () => 1)).rejects.toThrow(/has ended/);
});

test.each([
  ["cancel", { kind: "canceled" }],
  ["shutdown", { kind: "released" }],
  ["lease-lost", { kind: "lease_lost" }],
  ["timeout", { kind: "timeout" }],
] as const)("a handler that returns early on %s is not done", async (reason, expected) => {
  const { execution, stop } = handlerRun(
    (ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve("early"))),
    { killGraceSeconds: 30 },
  );
  stop(reason);
  expect((await execution).outcome).toMatchObject(expected);
});

test("rows arrive one by one, at the pace of their reader, before the result", async () => {
  const { execution } = handlerRun(async (ctx) => {
    const run = ctx.command("rows", { count: 3000 }, { rows: true });
    let seen = 0;
    for await (const row of run.rows) {
      expect(row).toMatchObject({ n: seen });
      seen += 1;
      if (seen % 500 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return { seen, result: await run.result };
  });
  const { outcome, output } = await execution;
  expect(outcome).toEqual({ kind: "succeeded", result: { seen: 3000, result: { count: 3000 } } });
  expect(output).toMatchObject({ stdoutTail: "wrote 3000\n", exitCode: 0 });
});

test("a command waits for a slow reader longer than any drain period", { timeout: 15_000 }, async () => {
  const { execution } = handlerRun(async (ctx) => {
    const run = ctx.command("rows", { count: 600 }, { rows: true });
    let seen = 0;
    for await (const _row of run.rows) {
      seen += 1;
      if (seen === 10) await new Promise((resolve) => setTimeout(resolve, 2500));
    }
    return seen;
  });
  expect((await execution).outcome).toEqual({ kind: "succeeded", result: 600 });
});

test("a handler can stop reading rows", async () => {
  const { execution } = handlerRun(async (ctx) => {
    const run = ctx.command("rows", { count: 3000 }, { rows: true });
    for await (const _row of run.rows) break;
    return run.result;
  });
  expect((await execution).outcome).toEqual({ kind: "succeeded", result: { count: 3000 } });
});

test("a command that fails throws with its exit code, in the rows and in the result", async () => {
  const { execution } = handlerRun(async (ctx) => {
    const error = await ctx.command("broken", {}).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CommandFailedError);
    expect(error).toMatchObject({ exitCode: 7, message: "exit code 7: bad thing" });
    for await (const _row of ctx.command("broken", {}, { rows: true }).rows) expect.unreachable();
  });
  expect((await execution).outcome).toMatchObject({
    kind: "failed",
    errorType: "unknown",
    message: "exit code 7: bad thing",
  });
});

test("C1 a handler can only run commands of the registry", async () => {
  const { execution } = handlerRun((ctx) => ctx.command("rm", {}));
  expect((await execution).outcome).toMatchObject({ errorType: "command_not_allowed" });
});

test("a row that cannot be parsed fails the command instead of being omitted", async () => {
  const { execution } = handlerRun(async (ctx) => {
    for await (const _row of ctx.command("badrow", {}, { rows: true }).rows) expect.unreachable();
  });
  expect((await execution).outcome).toMatchObject({
    kind: "failed",
    errorType: "internal",
    message: expect.stringContaining("row"),
  });
});

test.runIf(hasProc)("SUBPROC-01 commands of a handler end with its attempt", async () => {
  const jobId = randomUUID();
  const waiting = handlerRun((ctx) => ctx.command("sleeper", {}), { jobId });
  await until("it runs", () => waiting.recorded.output.length > 0);
  waiting.stop("cancel");
  expect((await waiting.execution).outcome).toEqual({ kind: "canceled" });
  expect(processesOf(jobId)).toEqual([]);
  const forgetful = handlerRun(
    async (ctx) => {
      void ctx.command("sleeper", {});
      await until("it runs", () => processesOf(jobId).length > 0);
      return "done";
    },
    { jobId },
  );
  expect((await forgetful.execution).outcome).toEqual({ kind: "succeeded", result: "done" });
  expect(processesOf(jobId)).toEqual([]);
});

test("SECRETS-05 SECRETS-01 secrets of the job do not appear in the output of its commands", async () => {
  const echo = await registryOf(folder, {
    echo: await shellCommand(
      folder,
      "echo",
      "printf 'hunter2-'; sleep 0.05; echo secret; echo hunter2-secret >&2; exit 3",
    ),
  });
  const { execution, recorded } = handlerRun((ctx) => ctx.command("echo", {}), {
    registry: echo,
    secrets: ["hunter2-secret"],
  });
  const { outcome, output } = await execution;
  expect(JSON.stringify({ outcome, output, recorded })).not.toContain("hunt");
  expect(outcome).toMatchObject({ message: "exit code 3: [redacted]" });
});
