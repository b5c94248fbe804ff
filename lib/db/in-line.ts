import { AsyncLocalStorage } from "node:async_hooks";
import type { Database } from "./types";

interface Mark {
  readonly name: string;
  /** False once the work has settled, so work that outlives it is back in the common line. */
  open: boolean;
}

// On globalThis, because routes and pages are bundled separately and share the pools of one process.
const LINES = Symbol.for("leasehold.pool-lines");
const slots = globalThis as unknown as { [LINES]?: AsyncLocalStorage<Mark> };
slots[LINES] ??= new AsyncLocalStorage<Mark>();
const marks = slots[LINES];

/** The line of all work outside `runInLine`. */
export const COMMON_LINE = "";

/**
 * Runs work whose connection requests queue in the line of this name. The lines of a pool take turns. A named line uses
 * at most four fifths of the pool's connections, so many or slow callers in one line delay no other line. Work that is
 * still running after `work` settles queues in the common line.
 */
export async function runInLine<T>(name: string, work: () => Promise<T>): Promise<T> {
  const mark = { name, open: true };
  try {
    return await marks.run(mark, work);
  } finally {
    mark.open = false;
  }
}

/** Runs work in the common line. For results that callers of several lines wait for. */
export const runInCommonLine = <T>(work: () => T): T => marks.exit(work);

/** Returns the database with all its work in the line of this name. Not for functions that cache per database. */
export function inLine(db: Database, name: string): Database {
  return {
    ...db,
    run: (statement, values) => runInLine(name, () => db.run(statement, values)),
    transaction: (fn, options) => runInLine(name, () => db.transaction(fn, options)),
  };
}

/** Returns the name of the line that the current work is in. */
export function currentLine(): string {
  const mark = marks.getStore();
  return mark?.open ? mark.name : COMMON_LINE;
}
