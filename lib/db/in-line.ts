import { AsyncLocalStorage } from "node:async_hooks";
import type { Database } from "./types";

interface Mark {
  readonly name: string;
  /** False once the work is over, for work that outlives it. */
  open: boolean;
}

// On globalThis, since routes and pages are bundled apart and share the pools of one process.
const LINES = Symbol.for("leasehold.pool-lines");
const slots = globalThis as unknown as { [LINES]?: AsyncLocalStorage<Mark> };
slots[LINES] ??= new AsyncLocalStorage<Mark>();
const marks = slots[LINES];

/** The line of all work that is in no other. */
export const COMMON_LINE = "";

/**
 * Runs work whose callers wait for connections in the line of this name. The lines of a pool take turns, and none but the
 * common line takes more than four fifths of its connections, so that many or slow callers of one line delay no other
 * line. What the work leaves behind waits in the common line.
 */
export async function runInLine<T>(name: string, work: () => Promise<T>): Promise<T> {
  const mark = { name, open: true };
  try {
    return await marks.run(mark, work);
  } finally {
    mark.open = false;
  }
}

/** Runs work in the common line, for results that callers of several lines wait for. */
export const runInCommonLine = <T>(work: () => T): T => marks.exit(work);

/** Returns the database as seen from the line of this name. Not for functions that keep a cache for each database. */
export function inLine(db: Database, name: string): Database {
  return {
    ...db,
    run: (statement, values) => runInLine(name, () => db.run(statement, values)),
    transaction: (fn, options) => runInLine(name, () => db.transaction(fn, options)),
  };
}

/** The name of the line that the current work is in. */
export function currentLine(): string {
  const mark = marks.getStore();
  return mark?.open ? mark.name : COMMON_LINE;
}
