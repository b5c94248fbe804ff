import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineJob, type HandlerContext } from "./define-job";
import { AttemptLostError, NonRetryableError } from "./errors";
import { executeCommand } from "./execute-command";
import { executeHandler } from "./execute-handler";
import type { CommandRegistry } from "./registry/registry";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  registryOf,
  shellCommand,
  type TestFolder,
  testContext,
} from "./test-support";
import type { StepStore } from "./types";

let folder: TestFolder;
let registry: CommandRegistry;
beforeAll(async () => {
  folder = await makeTestFolder();
  const says = (key: string, frame: string, exit = 0) => shellCommand(folder, key, `echo '${frame}' >&3; exit ${exit}`);
  registry = await registryOf(folder, {
    later: await says("later", '{"type":"snooze","seconds":90,"reason":"the library is closed"}'),
    broken: await says("broken", '{"type":"snooze","seconds":90}', 3),
    nonsense: await says("nonsense", '{"type":"snooze","seconds":"soon"}'),
  });
});
afterAll(() => folder.remove());

type Run = (ctx: HandlerContext<unknown>) => Promise<unknown>;

function run(handler: Run, steps: StepStore = memorySteps().steps) {
  const context = testContext();
  const job = defineJob({ key: "test", schema: z.unknown(), run: handler });
  const transaction = () => Promise.reject(new Error("no database here"));
  return {
    ...context,
    execution: executeHandler(job, { ...context.ctx, registry, transaction, publishEvent: noEvents, steps }),
  };
}

describe("G-03 steps", () => {
  test("a stored step is not run again, and a failing one is not stored", async () => {
    const { steps, stored } = memorySteps();
    const ran: string[] = [];
    const attempt: Run = async (ctx) => {
      const first = await ctx.step("first", () => {
        ran.push("first");
        return { at: new Date(0), n: undefined };
      });
      await ctx.step("nothing", () => undefined);
      await ctx.step("second", async () => {
        ran.push("second");
        if (ran.length === 2) throw new Error("not yet");
      });
      return first;
    };
    expect((await run(attempt, steps).execution).outcome).toMatchObject({ kind: "failed", message: "not yet" });
    expect([...stored.keys()]).toEqual(["first", "nothing"]);
    const again = await run(attempt, steps).execution;
    expect(again.outcome).toEqual({ kind: "succeeded", result: { at: "1970-01-01T00:00:00.000Z" } });
    expect(ran).toEqual(["first", "second", "second"]);
  });

  test("the first attempt gets the same JSON value as a later one", async () => {
    const { outcome } = await run((ctx) => ctx.step("date", () => ({ at: new Date(0) as unknown }))).execution;
    expect(outcome).toMatchObject({ result: { at: "1970-01-01T00:00:00.000Z" } });
  });

  test.each<[string, Run]>([
    ["two of one name in one attempt", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("a", () => 2)]],
    ["two of one name at once", (ctx) => Promise.all([ctx.step("a", () => 1), ctx.step("a", () => 2)])],
    ["one without a name", (ctx) => ctx.step("", () => 1)],
    ["one with an endless name", (ctx) => ctx.step("x".repeat(201), () => 1)],
    ["a result that is no JSON", (ctx) => ctx.step("big", () => 1n)],
  ])("%s fail the attempt for good", async (_what, handler) => {
    expect((await run(handler).execution).outcome).toMatchObject({ errorType: "internal", retryable: false });
  });

  test("a lost lease ends the attempt without a result", async () => {
    const steps = { ...memorySteps().steps, store: () => Promise.reject(new AttemptLostError()) };
    expect((await run((ctx) => ctx.step("a", () => 1), steps).execution).outcome).toEqual({ kind: "lease_lost" });
  });

  test("no step begins after the attempt was asked to stop", async () => {
    let ran = false;
    const running = run(async (ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      await ctx.step("late", () => {
        ran = true;
      });
    });
    await new Promise(setImmediate);
    running.stop("cancel");
    expect((await running.execution).outcome).toEqual({ kind: "canceled" });
    expect(ran).toBe(false);
  });
});

describe("G-04 children", () => {
  test("are enqueued with a success, with their payload at the time of the call", async () => {
    const { execution } = run(async (ctx) => {
      const payload = { n: 1 };
      ctx.enqueue({ definitionKey: "next", payload });
      payload.n = 2;
      return "done";
    });
    expect(await execution).toMatchObject({
      outcome: { kind: "succeeded", result: "done" },
      children: [{ definitionKey: "next", payload: { n: 1 } }],
    });
  });

  test.each<[string, Run]>([
    ["a failure", async (ctx) => ctx.enqueue({ definitionKey: "x" }) ?? Promise.reject(new NonRetryableError("no"))],
    ["a snooze", async (ctx) => ctx.enqueue({ definitionKey: "x" }) ?? ctx.snooze(5)],
  ])("of %s are dropped", async (_what, handler) => {
    expect((await run(handler).execution).children).toBeUndefined();
  });

  test("are limited to a thousand", async () => {
    const { outcome } = await run(async (ctx) => {
      for (let n = 0; n <= 1000; n += 1) ctx.enqueue({ definitionKey: "x" });
    }).execution;
    expect(outcome).toMatchObject({ kind: "failed", message: expect.stringContaining("1000"), retryable: false });
  });
});

describe("snooze", () => {
  test("ends the attempt at the call", async () => {
    const { execution } = run((ctx) => ctx.snooze(60, "the library is closed"));
    expect((await execution).outcome).toEqual({ kind: "snoozed", seconds: 60, reason: "the library is closed" });
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 604_801])("%d seconds are refused", async (seconds) => {
    expect((await run((ctx) => ctx.snooze(seconds)).execution).outcome).toMatchObject({ errorType: "internal" });
  });

  test("a command requests it on fd 3 and exits 0; with another exit code it has failed", async () => {
    const of = (key: string) => executeCommand(registry, key, {}, testContext().ctx);
    expect((await of("later")).outcome).toEqual({ kind: "snoozed", seconds: 90, reason: "the library is closed" });
    expect((await of("broken")).outcome).toMatchObject({ kind: "failed", message: "exit code 3" });
    expect((await of("nonsense")).outcome).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("a snooze that cannot be read"),
    });
  });

  test("of a command snoozes the handler that runs it", async () => {
    const { execution } = run((ctx) => ctx.command("later", {}));
    expect((await execution).outcome).toMatchObject({ kind: "snoozed", seconds: 90 });
  });
});
