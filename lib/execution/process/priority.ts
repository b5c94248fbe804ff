import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { ProcessUsage } from "./process-tree";

const LOWEST_NICE = 19;
/** Processor time that a command has at the worker's own priority. */
const USUAL_CPU_MS = 500;

/**
 * Gives the processes of a command that computes for long the lowest priority, so that worker, database and new commands
 * come first, however many processes there are. New ones inherit it; the next look finds those started meanwhile. The
 * command has its own session.
 */
export class LowPriority {
  /** Ids of processes and threads. */
  #lowered = new Set<number>();

  /** Takes what a look found. `cpuMs` is the processor time that the command has used. */
  look(seen: readonly ProcessUsage[], cpuMs: number): void {
    if (cpuMs < USUAL_CPU_MS) return;
    const threads = seen.flatMap((process) => process.threads);
    this.#lowered = new Set(threads.filter((thread) => this.#lowered.has(thread) || lower(thread)));
  }
}

/** Returns false if this has to be tried again. */
function lower(thread: number): boolean {
  try {
    setPriority(thread, LOWEST_NICE);
    // Where the kernel divides processors among sessions first, each session has a priority, too.
    writeFileSync(`/proc/${thread}/autogroup`, String(LOWEST_NICE));
    return true;
  } catch (error) {
    // The kernel limits how often an ordinary user may set that one.
    return (error as NodeJS.ErrnoException).code !== "EAGAIN";
  }
}
