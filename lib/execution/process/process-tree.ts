import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Turns } from "@/lib/turns";

/** The usage of a process, as the kernel counts it. */
export interface ProcessUsage {
  readonly pid: number;
  /** The ids of its threads. */
  readonly threads: readonly number[];
  /** How many of them compute, or could if they had a processor. */
  readonly runnable: number;
  /** Processor time in hundredths of a second, including children that the process has waited for. */
  readonly ticks: number;
  /** Bytes; shared pages count for each process. */
  readonly rss: number;
  readonly highestRss: number;
  /** Bytes that the kernel cannot reclaim, swapped ones included: `rss` without the pages of files on disk. */
  readonly held: number;
}

/** More than a command may have by default. Further processes are not seen. */
const MOST_PROCESSES = 5000;

/**
 * Returns a process and its descendants on Linux, with the usage of each. Omits those that end meanwhile. Takes about
 * 50 µs of processor time per process, in turns.
 */
export async function processTree(pid: number): Promise<ProcessUsage[]> {
  const turns = new Turns();
  const found = [pid];
  const usages: ProcessUsage[] = [];
  for (let at = 0; at < found.length; at += 1) {
    await turns.next();
    const next = found[at] ?? 0;
    const status = read(`/proc/${next}/status`);
    if (status === "") continue;
    const threads = numberAfter(status, "Threads:") > 1 ? namesIn(`/proc/${next}/task`).map(Number) : [next];
    usages.push(usageOf(next, { status, threads }));
    for (const child of childrenOf(next, threads)) if (found.length < MOST_PROCESSES) found.push(child);
  }
  return usages;
}

/**
 * Returns the memory of processes that the kernel cannot reclaim, in bytes, counting shared pages once. Reads page
 * tables, which costs milliseconds per gigabyte, off the main thread.
 */
export async function sharedOnce(usages: readonly ProcessUsage[]): Promise<number> {
  let total = 0;
  for (const { pid, held } of usages) {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, "latin1").catch(() => "");
    const parts = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"];
    const isKnown = parts.every((name) => text.includes(`\n${name}`));
    total += isKnown ? parts.reduce((sum, name) => sum + kilobytes(text, name), 0) : held;
  }
  return total;
}

/** Children are listed by the thread that forked them. */
const childrenOf = (pid: number, threads: readonly number[]): number[] =>
  threads.flatMap((tid) => read(`/proc/${pid}/task/${tid}/children`).split(" ").filter(Boolean).map(Number));

function usageOf(
  pid: number,
  { status, threads }: { readonly status: string; readonly threads: readonly number[] },
): ProcessUsage {
  const stat = read(`/proc/${pid}/stat`);
  // After the name, which may contain anything: own time in both modes, then that of the children it has waited for.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return {
    pid,
    threads,
    runnable:
      threads.length === 1
        ? isRunnable(stat)
        : threads.reduce((sum, tid) => sum + isRunnable(read(`/proc/${pid}/task/${tid}/stat`)), 0),
    ticks: times.reduce((total, ticks) => total + (Number(ticks) || 0), 0),
    rss: kilobytes(status, "VmRSS:"),
    highestRss: kilobytes(status, "VmHWM:"),
    held: ["RssAnon:", "RssShmem:", "VmSwap:"].reduce((total, name) => total + kilobytes(status, name), 0),
  };
}

const isRunnable = (stat: string): number => (stat.startsWith("R", stat.lastIndexOf(")") + 2) ? 1 : 0);

const kilobytes = (text: string, name: string): number => numberAfter(text, name) * 1024;

function numberAfter(text: string, name: string): number {
  const at = text.indexOf(`\n${name}`);
  return at < 0 ? 0 : Number.parseInt(text.slice(at + name.length + 1, at + name.length + 40), 10) || 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const buffer = Buffer.alloc(16 * 1024);

/** Reads a file of /proc; empty when its process has ended. Costs a third of `readFileSync`. */
function read(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, "r");
    let text = "";
    for (let size = -1; size !== 0; text += buffer.toString("latin1", 0, size))
      size = readSync(fd, buffer, 0, buffer.length, null);
    return text;
  } catch {
    return "";
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
