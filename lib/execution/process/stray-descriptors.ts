import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

const DESCRIPTORS = "/proc/self/fdinfo";
const CLOSED_ON_EXEC = 0o2000000;
/** The standard streams are given to each process anyway. */
const FIRST = 3;
/** A process cannot be given descriptors near the limit of open files. */
const MOST_COVERED = 512;

/**
 * Returns a process's descriptors from `first` on, so that it inherits none with which this process was started. Each
 * such descriptor is covered with an empty file, because neither Node nor every shell can close it there. Most
 * processes have none: Node keeps its own inherited descriptors from its children, up to the first free number.
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
/** Cached, because Node opens no descriptor that its children inherit. */
let found: Strays | undefined;

/** Finds stray descriptors. Leaves them open here, because one may hold a lock; closes those that cannot be covered. */
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
