import { readdirSync, readFileSync } from "node:fs";
import { delay } from "../timer";

/**
 * The process group of a command. Signals go to the group's number only while the group is known to exist: its watcher
 * keeps the number taken until the group is killed, so the number cannot belong to another group by then.
 */
export class ProcessGroup {
  readonly #pid: number;
  readonly #mark: string;
  readonly #searchesMarks: boolean;
  #gone = false;

  /** `searchesMarks`: also kills processes that left the group, found by the working folder in their environment. */
  constructor(pid: number, options: { mark: string; searchesMarks: boolean }) {
    if (!Number.isSafeInteger(pid) || pid <= 1) throw new RangeError("not a process id");
    this.#pid = pid;
    this.#mark = `HOME=${options.mark}`;
    this.#searchesMarks = options.searchesMarks;
  }

  /** Sends a signal to the whole group. A no-op when the group is gone. */
  signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#gone) return false;
    try {
      process.kill(-this.#pid, signal);
      return true;
    } catch (error) {
      // EPERM: a member changed its user; the others were reached.
      return (error as NodeJS.ErrnoException).code === "EPERM";
    }
  }

  /**
   * Kills until no process is left, including those forked meanwhile. Returns false when a process outlived `withinMs`.
   */
  async kill(withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
      // A container whose first process reaps nothing leaves dead members behind; they are not waited for.
      const groupLeft = this.signal("SIGKILL") && (wait < 8 || hasLiveMember(this.#pid));
      const strays = this.#searchesMarks ? killMarked(this.#mark) : 0;
      if (!groupLeft && strays === 0) break;
      if (performance.now() > deadline) return false;
      await delay(wait);
    }
    this.#gone = true;
    return true;
  }
}

// Reads every process of this user, so this is used only without a namespace that does the same.
function killMarked(mark: string): number {
  let found = 0;
  for (const pid of processIds()) {
    if (pid === process.pid || !carries(pid, mark)) continue;
    try {
      process.kill(pid, "SIGKILL");
      found += 1;
    } catch {
      // It ended by itself.
    }
  }
  return found;
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isSafeInteger(pid) && pid > 1);
  } catch {
    return [];
  }
}

function carries(pid: number, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1")
      .split("\0")
      .includes(Buffer.from(mark, "utf8").toString("latin1"));
  } catch {
    return false;
  }
}

// The init of a namespace stays listed, beyond all signals, until its dead are reaped.
const EXITING = 0x4;

function hasLiveMember(group: number): boolean {
  const ids = processIds();
  return ids.length === 0 || ids.some((pid) => isLiveMember(pid, group));
}

function isLiveMember(pid: number, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [state, , member, , , , flags] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(member) === group && state !== "Z" && state !== "X" && (Number(flags) & EXITING) === 0;
  } catch {
    return false;
  }
}
