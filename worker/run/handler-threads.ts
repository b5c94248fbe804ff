import { Worker } from "node:worker_threads";
import type { StartThread } from "@/lib/execution";

/**
 * Returns a function that starts the thread of one attempt. Each attempt gets a new thread, so that it leaves nothing
 * to the next, and ending the thread ends one attempt only. The thread gets nothing of the worker's environment, and
 * has its own memory limit.
 */
export const threadStarter =
  (memoryMb: number): StartThread =>
  (workerData) =>
    new Worker(new URL("./handler-thread.mjs", import.meta.url), {
      workerData,
      stdout: true,
      stderr: true,
      env: {},
      // Maps stack frames to the handler's own file and line; threads do not inherit the worker's setting.
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
