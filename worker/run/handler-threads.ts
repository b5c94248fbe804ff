import { Worker } from "node:worker_threads";
import type { StartThread } from "@/lib/execution";

/**
 * Starts the thread of one attempt. A fresh one for each, so that nothing of an attempt is left for the next, and ending it
 * ends one attempt only. It has nothing of the worker's environment, and its own limit of memory.
 */
export const threadStarter =
  (memoryMb: number): StartThread =>
  (workerData) =>
    new Worker(new URL("./handler-thread.mjs", import.meta.url), {
      workerData,
      stdout: true,
      stderr: true,
      env: {},
      // Frames name the handler's own file and line; what the worker has switched on itself does not reach its threads.
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
