import { readFileSync } from "node:fs";

/** What the processes of a command took. */
export interface Usage {
  /** Processor time of all of them, in milliseconds. */
  readonly cpuMs: number;
  /** The most memory that they held at one time, in bytes; pages that they share count for each. */
  readonly peakRssBytes: number;
}

// Often at first, so that a command of a tenth of a second is seen too.
const FIRST_LOOKS_MS = [30, 120, 400];
const LOOK_MS = 1000;
/** Linux counts processor time in hundredths of a second on every architecture (USER_HZ, proc(5)). */
const TICK_MS = 10;
const MOST_PROCESSES = 200;

/**
 * Watches what a running command and its descendants use, by looking at them about once a second (Linux only). What
 * happens after the last look is not seen, so figures are a little low, and a command of a few milliseconds has none.
 */
export class UsageMeter {
  private timer: NodeJS.Timeout | undefined;
  private looks = 0;
  private cpuMs = 0;
  private peakRssBytes = 0;

  constructor(private readonly pid: number) {
    if (process.platform === "linux") this.schedule();
  }

  /** Ends the watching. Undefined when nothing was seen. */
  stop(): Usage | undefined {
    clearTimeout(this.timer);
    return this.peakRssBytes === 0 ? undefined : { cpuMs: this.cpuMs, peakRssBytes: this.peakRssBytes };
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.looks += 1;
      this.look();
      this.schedule();
    }, FIRST_LOOKS_MS[this.looks] ?? LOOK_MS);
    this.timer.unref();
  }

  private look(): void {
    const seen = descendants(this.pid).map(usageOf);
    const sum = (pick: (usage: ProcessUsage) => number) => seen.reduce((total, usage) => total + pick(usage), 0);
    this.cpuMs = Math.max(
      this.cpuMs,
      sum(({ ticks }) => ticks * TICK_MS),
    );
    const highest = Math.max(0, ...seen.map(({ highestRss }) => highestRss));
    this.peakRssBytes = Math.max(
      this.peakRssBytes,
      highest,
      sum(({ rss }) => rss),
    );
  }
}

function descendants(pid: number): number[] {
  const found = [pid];
  for (let at = 0; at < found.length && found.length < MOST_PROCESSES; at += 1) {
    const next = found[at];
    found.push(...(read(`/proc/${next}/task/${next}/children`)?.split(" ").filter(Boolean).map(Number) ?? []));
  }
  return found;
}

interface ProcessUsage {
  readonly ticks: number;
  readonly rss: number;
  readonly highestRss: number;
}

function usageOf(pid: number): ProcessUsage {
  const stat = read(`/proc/${pid}/stat`) ?? "";
  // After the name, which may hold anything: own time in both modes, then that of the children it has waited for.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  const status = read(`/proc/${pid}/status`) ?? "";
  return {
    ticks: times.reduce((total, ticks) => total + (Number(ticks) || 0), 0),
    rss: kilobytes(status, "VmRSS"),
    highestRss: kilobytes(status, "VmHWM"),
  };
}

function kilobytes(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0) * 1024;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "latin1");
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
