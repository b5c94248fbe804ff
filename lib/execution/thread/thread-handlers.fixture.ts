import { z } from "zod";
import { defineJob, type HandlerContext, type JobHandler } from "../define-job";
import { NonRetryableError, RateLimitedError } from "../errors";
import { serveHandlerThread } from "./guest";

/** The handlers of threads.test.ts; bundled, this file is the entry of their thread. */
type Run = (ctx: HandlerContext<{ at?: Date | undefined }>) => Promise<unknown>;

const burn = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

const RUNS: Readonly<Record<string, Run>> = {
  all: async (ctx) => {
    ctx.progress(40, "nearly");
    ctx.log("warn", "half with hunter2-secret", { n: 1n });
    console.log("printed hunter2-secret");
    ctx.enqueue({ definitionKey: "next", payload: { n: 1 } });
    const { jobId, tenantId, attempt, idempotencyKey } = ctx;
    return { at: ctx.payload.at?.toISOString(), jobId, tenantId, attempt, idempotencyKey, leak: "hunter2-secret" };
  },
  steps: async (ctx) => [await ctx.step("a", () => ({ n: 1 })), await ctx.step("b", async () => undefined)],
  stepFails: (ctx) =>
    ctx.step("a", () => {
      throw new NonRetryableError("no such thing", { errorType: "not_found" });
    }),
  stepTwice: async (ctx) => [await ctx.step("a", () => 1), await ctx.step("a", () => 2)],
  command: async (ctx) => ctx.command("echo", {}),
  publish: (ctx) => ctx.publishEvent({ name: "thing.made" }),
  broken: async (ctx) => ctx.command("broken", {}),
  rows: async (ctx) => {
    const run = ctx.command("rows", {}, { rows: true });
    const seen: unknown[] = [];
    for await (const row of run.rows) seen.push(row);
    return { seen, result: await run.result };
  },
  twoRows: async (ctx) => {
    const seen: unknown[] = [];
    for await (const row of ctx.command("rows", {}, { rows: true }).rows) if (seen.push(row) === 2) break;
    return seen;
  },
  file: async (ctx) => {
    const file = await ctx.openFile("0190a000-0000-7000-8000-00000000000a", "in.txt");
    const text = await file.readFile("utf8");
    await file.close();
    const absent = await ctx
      .openFile("0190a000-0000-7000-8000-00000000000a", "none")
      .catch((error: Error) => error.message);
    return { text, absent };
  },
  artifacts: async (ctx) => {
    const text = await ctx.artifact("a.txt", "for hunter2-secret");
    const rows = ctx.artifact("rows", { contentType: "application/x-rows" });
    const shared = Buffer.alloc(600_000, 7);
    for (let at = 0; at < shared.length; at += 200_000) await rows.write(shared.subarray(at, at + 200_000));
    await rows.end();
    const twice = await ctx.artifact("rows", "again").catch((error: unknown) => (error as Error).message);
    return { text, twice };
  },
  contexts: async (ctx) => {
    for (let n = 0; n < 3; n += 1) ctx.log("info", `${n}`, { ratio: Number.NaN });
    ctx.log("info", "big", { n: 2n ** 60n });
  },
  transaction: async (ctx) => ctx.transaction(async () => 1),
  snooze: async (ctx) => ctx.snooze(60, "later"),
  limited: async () => Promise.reject(new RateLimitedError(30)),
  typeError: async () => (undefined as unknown as { n: number }).n,
  burn: async (ctx) => {
    ctx.progress(1);
    burn(60_000);
  },
  progress: async (ctx) => {
    for (let n = 0; n < 20_000; n += 1) ctx.progress(n / 200);
    burn(250);
    ctx.progress(100, "done");
  },
  polite: async (ctx) => {
    ctx.progress(1);
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    return ctx.signal.reason;
  },
  lingers: async () => {
    setInterval(() => undefined, 1000);
    return "done";
  },
  uncaught: () =>
    new Promise(() => {
      setTimeout(() => {
        throw new Error("out of nowhere");
      }, 10);
    }),
  exits: async () => process.exit(3),
  hungry: async () => {
    const held: string[] = [];
    for (;;) held.push("x".repeat(1000) + held.length);
  },
  environment: async () => Object.keys(process.env),
};

const at = z.string().transform((text) => new Date(text));
const schema = z.looseObject({ at: at.optional() });

export const threadHandlers: ReadonlyMap<string, JobHandler> = new Map(
  Object.entries(RUNS).map(([key, run]) => [key, defineJob({ key, schema, thread: true, run })]),
);

if (process.env.IS_THREAD !== undefined) await serveHandlerThread(threadHandlers);
