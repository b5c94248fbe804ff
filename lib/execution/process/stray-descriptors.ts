import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

const DESCRIPTORS = "/proc/self/fdinfo";
const CLOSED_ON_EXEC = 0o2000000;
/** Standard streams are given to each process anyway. */
const FIRST = 3;
/** A process cannot be given descriptors near the limit of open files. */
const MOST_COVERED = 512;

/**
 * Returns what a process is given from descriptor `first` on, so that it inherits nothing that this process was started with:
 * an empty file in the place of each such descriptor, because neither Node nor every shell can close it there. Most processes
 * have none of them: Node keeps from its children what it inherits up to the first number that is free.
 */
export function coverStrays(first: number): ("ignore" | number)[] {
  found ??= findStrays();
  const { empty, numbers } = found;
  const last = numbers.at(-1) ?? 0;
  return Array.from({ length: Math.max(0, last + 1 - first) }, (_, at) =>
    numbers.includes(first + at) ? empty : "ignore",
  );
}

interface Strays {
  readonly empty: number;
  /** Ascending. */
  readonly numbers: readonly number[];
}
/** Node opens nothing that its children inherit, so these stay the same. */
let found: Strays | undefined;

/** Leaves them open here, because one may hold a lock; closes those that cannot be covered. */
function findStrays(): Strays {
  const strays = descriptors().filter((fd) => fd >= FIRST && isInheritable(fd));
  for (const fd of strays) if (fd >= MOST_COVERED) closeSync(fd);
  const numbers = strays.filter((fd) => fd < MOST_COVERED).sort((one, other) => one - other);
  return { empty: numbers.length === 0 ? -1 : openSync("/dev/null", "r+"), numbers };
}

function descriptors(): number[] {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch {
    return [];
  }
}

function isInheritable(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s{1,8}([0-7]{1,12})$/m.exec(readFileSync(`${DESCRIPTORS}/${fd}`, "latin1")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    return false;
  }
}
