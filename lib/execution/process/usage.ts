import { LowPriority } from "./priority";
import { type ProcessUsage, processTree, sharedOnce } from "./process-tree";

/** The usage of a command's processes. */
export interface CommandUsage {
  /** Processor time of all processes, in milliseconds. */
  readonly cpuMs: number;
  /** Most memory that they held at one time, in bytes; shared pages count for each process. */
  readonly peakRssBytes: number;
}

/** Memory limit for a command's processes together; pages of files on disk do not count. */
export interface MemoryBound {
  readonly bytes: number;
  /** Called once, with the memory in bytes, when the limit was exceeded. */
  readonly onExceeded: (bytes: number) => void;
}

// Often at first, so that a command of a tenth of a second is seen too.
const FIRST_LOOKS_MS = [30, 120, 400];
const LOOK_MS = 1000;
/** Interval while a command holds more than half of its limit. */
const NEAR_BOUND_MS = 200;
/**
 * Pause between the two looks that end a command: a child that is about to run another program briefly has its parent's
 * memory.
 */
const CONFIRM_MS = 50;
/** Limits looking to a tenth of a processor, because a look at hundreds of processes takes longer. */
const PAUSE_PER_LOOK = 9;
const LONGEST_PAUSE_MS = 3000;
/** Linux counts processor time in hundredths of a second on every architecture (USER_HZ, proc(5)). */
const TICK_MS = 10;

/**
 * Measures a running command and its descendants about once a second (Linux only), and lowers their priority once they
 * have used much. Anything after the last look is not seen, so figures are a little low, and a command of a few
 * milliseconds has none.
 */
export class UsageMeter {
  readonly #pid: number;
  readonly #bound: MemoryBound | undefined;
  readonly #priority = new LowPriority();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #looks = 0;
  #wasOver = false;
  #cpuMs = 0;
  #peakRssBytes = 0;

  constructor(pid: number, bound?: MemoryBound) {
    this.#pid = pid;
    this.#bound = bound;
    if (process.platform === "linux") this.#schedule(0);
  }

  /** Stops measuring. Returns undefined when nothing was seen. */
  stop(): CommandUsage | undefined {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    return this.#peakRssBytes === 0 ? undefined : { cpuMs: this.#cpuMs, peakRssBytes: this.#peakRssBytes };
  }

  #schedule(leastMs: number, usualMs = LOOK_MS): void {
    if (this.#isStopped) return;
    const pause = Math.max(leastMs, FIRST_LOOKS_MS[this.#looks] ?? usualMs);
    this.#timer = setTimeout(() => void this.#look(), pause);
    this.#timer.unref();
    this.#looks += 1;
  }

  async #look(): Promise<void> {
    const began = performance.now();
    const seen = await processTree(this.#pid);
    const sum = (pick: (usage: ProcessUsage) => number) => seen.reduce((total, usage) => total + pick(usage), 0);
    const cpuMs = sum(({ ticks }) => ticks * TICK_MS);
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs);
    if (!this.#isStopped) this.#priority.look(seen, this.#cpuMs);
    for (const bytes of [sum(({ rss }) => rss), ...seen.map(({ highestRss }) => highestRss)])
      this.#peakRssBytes = Math.max(this.#peakRssBytes, bytes);
    const held = sum((usage) => usage.held);
    const over = await this.#over(held, seen);
    if (over !== null && this.#wasOver && !this.#isStopped) return this.#bound?.onExceeded(over);
    this.#wasOver = over !== null;
    if (this.#wasOver) return this.#schedule(CONFIRM_MS, CONFIRM_MS);
    const took = Math.min(LONGEST_PAUSE_MS, (performance.now() - began) * PAUSE_PER_LOOK);
    this.#schedule(took, this.#bound && held > this.#bound.bytes / 2 ? NEAR_BOUND_MS : LOOK_MS);
  }

  /**
   * Returns the memory in bytes if it exceeds the limit, else null. Cheap while the sum that counts shared pages for
   * each process is below the limit.
   */
  async #over(held: number, seen: readonly ProcessUsage[]): Promise<number | null> {
    if (!this.#bound || held <= this.#bound.bytes) return null;
    const bytes = await sharedOnce(seen);
    return bytes > this.#bound.bytes ? bytes : null;
  }
}
