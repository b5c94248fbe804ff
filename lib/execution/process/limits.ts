import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import type { ResourceLimits } from "./supervisor";

const MIB = 1024 * 1024;
const ROWS = {
  cpu_seconds: ["Max cpu time", 1],
  memory_mb: ["Max address space", MIB],
  file_size_mb: ["Max file size", MIB],
  open_files: ["Max open files", 1],
  processes: ["Max processes", 1],
} as const;

/** Lowers limits to this process's own hard limits, because asking for more would keep the command from starting. */
export function withinOwnLimits(limits: ResourceLimits): ResourceLimits {
  const own = ownHardLimits();
  const entries = Object.entries(ROWS).map(([name, [row, unit]]) => {
    const wish = limits[name as keyof ResourceLimits];
    const most = own.get(row);
    return [
      name,
      wish === undefined || most === undefined ? wish : Math.min(wish, Math.max(1, Math.floor(most / unit))),
    ];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Returns half of the memory of the machine, or of the container if that has less, in MiB. */
export const halfOfMemory = (): number =>
  Math.floor(Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 / MIB);

function ownHardLimits(): Map<string, number> {
  try {
    const lines = readFileSync("/proc/self/limits", "utf8").split("\n");
    return new Map(lines.flatMap(hardLimit));
  } catch {
    return new Map();
  }
}

function hardLimit(line: string): [string, number][] {
  const match = /^(Max [a-z ]{1,40}?)\s{2,40}\S{1,40}\s{1,40}(\d{1,20})\s/.exec(line);
  return match?.[1] && match[2] ? [[match[1], Number(match[2])]] : [];
}
