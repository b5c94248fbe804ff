import { readFileSync } from "node:fs";

/** Returns the processor time of this process's main thread so far, in milliseconds. Linux only. */
export const mainThreadMs = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1_000_000;
