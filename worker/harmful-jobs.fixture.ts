import { existsSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { defineJob, type JobHandler } from "@/lib/execution";

// In the place of `jobs` in builds that are made for tests: handlers that harm the process that runs them.
const WAYS = ["exit", "kill", "reject", "memory", "block", "wait", "fine"] as const;

const harm = defineJob({
  key: "harm",
  schema: z.looseObject({ how: z.enum(WAYS), file: z.string().optional(), ms: z.number().optional() }),
  run: async ({ payload: { how, file, ms = 0 }, attempt, signal, log }) => {
    log(`attempt ${attempt}: ${how}`);
    if (file !== undefined) writeFileSync(file, String(process.pid));
    switch (how) {
      case "exit":
        process.exit(7);
        break;
      case "kill":
        process.kill(process.pid, "SIGKILL");
        break;
      case "reject":
        void Promise.reject(new Error("nobody catches this"));
        break;
      case "memory":
        eatMemory();
        break;
      case "block":
        // As endless as a loop that computes, without using up a processor.
        while (how === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        break;
      case "wait":
        return waitFor(() => signal.aborted || existsSync(`${file}.go`));
      case "fine":
        await new Promise((resolve) => setTimeout(resolve, ms));
    }
    // A process that an error ends runs on for a moment.
    if (how !== "fine") await new Promise((resolve) => setTimeout(resolve, 5000));
    return { attempt, pid: process.pid };
  },
});

export const handlers: ReadonlyMap<string, JobHandler> = new Map([[harm.key, harm]]);

/** Until the heap is full, or the machine is. */
function eatMemory(): void {
  const kept: unknown[] = [];
  while (kept.length < 1e5) kept.push(Array.from({ length: 1e4 }, (_, n) => ({ n })));
}

async function waitFor(condition: () => boolean): Promise<{ pid: number }> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  return { pid: process.pid };
}
