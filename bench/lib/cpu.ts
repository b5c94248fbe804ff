import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parent: number;
  /** Of the process and of its children that are gone. */
  readonly ticks: number;
}

/**
 * Milliseconds of processor time that a process and its children have used so far; NaN where there is no /proc. On a
 * busy machine it says more than the clock does.
 */
export function cpuMsOf(pid: number): number {
  try {
    const all = new Map(
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .flatMap((name) => {
          const stat = statOf(name);
          return stat ? [[Number(name), stat] as const] : [];
        }),
    );
    const mine = [...all].filter(([id, { parent }]) => id === pid || parent === pid);
    return (mine.reduce((sum, [, { ticks }]) => sum + ticks, 0) / TICKS_PER_SECOND) * 1000;
  } catch {
    return Number.NaN;
  }
}

function statOf(pid: string): Stat | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const number = (at: number) => Number(fields[at]);
    return { parent: number(1), ticks: number(11) + number(12) + number(13) + number(14) };
  } catch {
    return undefined; // the process ended meanwhile
  }
}
