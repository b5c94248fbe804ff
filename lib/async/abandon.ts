import { AsyncLocalStorage } from "node:async_hooks";

interface Mark {
  /** Set once the result is no longer wanted. */
  reason?: Error;
  hasSettled: boolean;
  /** Gives back what the work holds. */
  readonly held: Set<() => void>;
}

// On globalThis, because routes and pages are bundled separately and share the event loop of one process.
const MARKS = Symbol.for("leasehold.abandonable-work");
const slots = globalThis as unknown as { [MARKS]?: AsyncLocalStorage<Mark> };
slots[MARKS] ??= new AsyncLocalStorage<Mark>();
const marks = slots[MARKS];

export interface StartedWork<T> {
  readonly result: Promise<T>;
  /** Makes `throwIfAbandoned` throw this reason inside the work, until the work settles. */
  abandon(reason: Error): void;
}

/** Starts work that can be abandoned when its result is no longer wanted. */
export function startWork<T>(work: () => Promise<T>): StartedWork<T> {
  const mark: Mark = { hasSettled: false, held: new Set() };
  const run = async (): Promise<T> => {
    try {
      return await marks.run(mark, work);
    } finally {
      mark.hasSettled = true;
      releaseAll(mark);
    }
  };
  return {
    result: run(),
    abandon: (reason) => {
      mark.reason = reason;
    },
  };
}

/** Call this where long work pauses. Work that outlives its `startWork` goes on. */
export function throwIfAbandoned(): void {
  const mark = marks.getStore();
  if (mark?.reason && !mark.hasSettled) throw mark.reason;
}

/** True inside `startWork`, until that work settles. */
export function isAbandonable(): boolean {
  return marks.getStore()?.hasSettled === false;
}

/** Calls `release` once the current work has settled, also if it is abandoned before. */
export function holdUntilSettled(release: () => void): void {
  const mark = marks.getStore();
  if (mark && !mark.hasSettled) mark.held.add(release);
  else release();
}

/** Gives back at once what the current work holds. */
export function releaseHeld(): void {
  const mark = marks.getStore();
  if (mark) releaseAll(mark);
}

function releaseAll({ held }: Mark): void {
  for (const release of held) {
    held.delete(release);
    release();
  }
}
