import { existsSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { defineJob, type HandlerContext, type JobHandler } from "@/lib/execution";
import { handlers as installed } from "../jobs";

// Replaces `jobs` in test builds: the shipped handlers, and one that harms the process that runs it.
export { builtinDefinitions } from "../jobs";

const WAYS = ["exit", "kill", "reject", "memory", "block", "wait", "tend", "fine"] as const;

const harm = defineJob({
  key: "harm",
  schema: z.looseObject({ how: z.enum(WAYS), file: z.string().optional(), ms: z.number().optional() }),
  run: async (ctx) => {
    const { attempt, signal } = ctx;
    const { how, file, ms = 0 } = ctx.payload;
    ctx.log(`attempt ${attempt}: ${how}`);
    if (file !== undefined) writeFileSync(file, String(process.pid));
    switch (how) {
      case "exit":
        process.exit(7);
        break;
      case "kill":
        process.kill(process.pid, "SIGKILL");
        break;
      case "reject":
        void Promise.reject(new Error("not caught on purpose"));
        break;
      case "memory":
        eatMemory();
        break;
      case "block":
        // Blocks like an endless loop, without using up a processor.
        while (how === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        break;
      case "wait":
        return waitFor(() => signal.aborted || existsSync(`${file}.go`));
      case "tend":
        return tend(ctx, ms);
      case "fine":
        await new Promise((resolve) => setTimeout(resolve, ms));
    }
    // A process that dies from an error runs on for a moment.
    if (how !== "fine") await new Promise((resolve) => setTimeout(resolve, 5000));
    return { attempt, pid: process.pid };
  },
});

export const handlers: ReadonlyMap<string, JobHandler> = new Map([...installed, [harm.key, harm]]);

/** Queries the database repeatedly for this long. */
async function tend(ctx: HandlerContext<unknown>, ms: number): Promise<{ turns: number }> {
  const until = Date.now() + ms;
  let turns = 0;
  for (; Date.now() < until; turns += 1) {
    const turn = turns;
    await ctx.step(`turn ${turn}`, () => turn);
    await ctx.transaction(async () => turn);
    ctx.progress(50, `turn ${turn}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { turns };
}

/** Allocates until the heap or the machine is out of memory. */
function eatMemory(): void {
  const kept: unknown[] = [];
  while (kept.length < 1e5) kept.push(Array.from({ length: 1e4 }, (_, n) => ({ n })));
}

async function waitFor(condition: () => boolean): Promise<{ pid: number }> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  return { pid: process.pid };
}
