import { writeFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import type { ProcessUsage } from "./process-tree";

const LOWEST_NICE = 19;
/** Processor time that a command has at the worker's own priority. */
const USUAL_CPU_MS = 500;
/** A process gets so much less of a processor with each step of niceness (sched(7)). */
const STEP = 1.25;

/**
 * Lowers the priority of a command's processes so that all of them together get about as much of a busy machine as one
 * process of the worker's priority, however many compute. New ones inherit it; the next look finds those started
 * meanwhile. The command has its own session.
 */
export class LowPriority {
  /** Ids of processes and threads. */
  #lowered = new Set<number>();
  #nice = getPriority();

  /** Takes what a look found. `cpuMs` is the processor time that the command has used. */
  look(seen: readonly ProcessUsage[], cpuMs: number): void {
    if (cpuMs < USUAL_CPU_MS) return;
    const runnable = seen.reduce((sum, process) => sum + process.runnable, 0);
    const nice = Math.min(LOWEST_NICE, getPriority() + Math.round(Math.log(Math.max(1, runnable)) / Math.log(STEP)));
    if (nice > this.#nice) this.#lowered.clear();
    this.#nice = Math.max(nice, this.#nice);
    if (this.#nice === getPriority()) return;
    const threads = seen.flatMap((process) => process.threads);
    this.#lowered = new Set(threads.filter((thread) => this.#lowered.has(thread) || lower(thread, this.#nice)));
  }
}

/** Returns false if this has to be tried again. */
function lower(thread: number, nice: number): boolean {
  try {
    setPriority(thread, nice);
    // Where the kernel divides processors among sessions first, each session has a priority, too.
    writeFileSync(`/proc/${thread}/autogroup`, String(nice));
    return true;
  } catch (error) {
    // The kernel limits how often an ordinary user may set that one.
    return (error as NodeJS.ErrnoException).code !== "EAGAIN";
  }
}
