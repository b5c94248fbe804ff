import { Worker } from "node:worker_threads";
import { AttemptStoppedError, type StartThread, type StopReason } from "@/lib/execution";
import { TurnLines } from "@/lib/turn-lines";

const YOUNG_MB = 16;
/** What a worker needs besides the threads of handlers. */
const WORKER_MB = 256;

interface ThreadMemory {
  /** Heap of one thread. */
  readonly threadMb: number;
  /** Memory limit of the worker; 0 = none. */
  readonly limitMb: number;
  /** Attempts that the worker runs at once. */
  readonly concurrency: number;
}

/**
 * Returns a function that starts the thread of one attempt. Each attempt gets a new thread, so that it leaves nothing
 * to the next, and ending the thread ends one attempt only. The thread gets nothing of the worker's environment, and
 * has its own memory limit. If all heaps together could exceed the worker's limit, threads wait for each other; tenants
 * take turns.
 */
export function threadStarter(memory: ThreadMemory): StartThread {
  const turns = new TurnLines(threadLimits(memory));
  return async (workerData, signal) => {
    const leave = await unlessAborted(turns.enter({ name: workerData.tenantId }), signal);
    const thread = new Worker(new URL("./handler-thread.mjs", import.meta.url), {
      workerData,
      stdout: true,
      stderr: true,
      env: {},
      // Maps stack frames to the handler's own file and line; threads do not inherit the worker's setting.
      execArgv: ["--enable-source-maps"],
      resourceLimits: { maxOldGenerationSizeMb: memory.threadMb, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    return thread.once("exit", leave);
  };
}

/** Returns how many threads run at once, in all and of one tenant. */
export function threadLimits({ threadMb, limitMb, concurrency }: ThreadMemory) {
  const fitting = Math.floor((limitMb - WORKER_MB) / (threadMb + YOUNG_MB));
  const atOnce = limitMb === 0 ? concurrency : Math.min(concurrency, Math.max(1, fitting));
  // A thread may last for hours, so one tenant does not get all of them.
  const ofTenant = atOnce < concurrency ? Math.max(1, atOnce - 1) : atOnce;
  return { atOnce, ofLine: () => ofTenant };
}

/** Waits for a turn. @throws AttemptStoppedError when the signal is aborted meanwhile */
function unlessAborted(turn: Promise<() => void>, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      reject(new AttemptStoppedError(signal.reason as StopReason));
      void turn.then((leave) => leave());
    };
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    void turn.then((leave) => {
      signal.removeEventListener("abort", giveUp);
      if (!signal.aborted) resolve(leave);
    });
  });
}
