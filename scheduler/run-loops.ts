import type { Database, Transaction } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { keepTerm, type LeaderTerm, type RetrySettings, TermLostError } from "@/lib/queue/scheduler";

/** What a turn of a loop works with. */
export interface TurnContext {
  readonly db: Database;
  /** The web role's pool, for changes made on behalf of a tenant's member. */
  readonly web: Database;
  readonly leader: LeaderTerm;
  readonly log: Logger;
  readonly random: () => number;
  /** The installation's retry settings. */
  readonly retry?: RetrySettings;
  /** Events at this depth trigger nothing. */
  readonly eventMaxDepth?: number;
  /** Folders that may be watched lie below these roots; without roots, no folder is watched. */
  readonly providerRoots?: readonly string[];
  /** Runs `work` in a transaction whose first statement checks that this scheduler is still the leader. */
  inTerm<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface Loop {
  readonly name: string;
  readonly everyMs: number;
  /** A hint with this name ends the loop's pause. */
  readonly hint?: string;
  /** Other loops begin only after the first turn of this one, even if that turn failed. */
  readonly beforeOthers?: boolean;
  /**
   * Does one bounded batch of work.
   * @returns `again`: more work is waiting, so the next turn comes at once. `inMs`: milliseconds until work will be
   * due, if known; the pause is then that long, but never longer than `everyMs`.
   */
  turn(turn: TurnContext): Promise<{ readonly again: boolean; readonly inMs?: number | null }>;
}

/** Wakes loops early. A hint that is lost costs only time: every loop runs at its own interval anyway. */
export class Hints {
  readonly #heard = new Map<string, Set<() => void>>();

  give(name: string): void {
    for (const hear of this.#heard.get(name) ?? []) hear();
  }

  on(name: string, hear: () => void): void {
    const all = this.#heard.get(name) ?? new Set();
    this.#heard.set(name, all.add(hear));
  }
}

const JITTER = 0.2;
/** Shortest pause after a failed turn, so that a database that is down is not hammered. */
const AFTER_ERROR_MS = 1000;

/**
 * Runs loops in parallel until the signal aborts. A failed turn is logged and retried later. A turn that finds another
 * leader logs nothing, because a scheduler that lost its term stops anyway. Resolves when the last turn has ended.
 */
export async function runLoops(
  loops: readonly Loop[],
  turn: Omit<TurnContext, "inTerm">,
  signal: AbortSignal,
  hints = new Hints(),
): Promise<void> {
  const inTerm: TurnContext["inTerm"] = (work) =>
    turn.db.transaction(async (tx) => {
      await keepTerm(tx, turn.leader);
      return work(tx);
    });
  const all = loops.map((loop) => ({ loop, pauses: new Pauses(loop, signal, hints) }));
  const cutAll = () => {
    for (const { pauses } of all) pauses.cut();
  };
  signal.addEventListener("abort", cutAll, { once: true });
  const begin = ({ loop, pauses }: (typeof all)[number], onFirst?: () => void) =>
    repeat(loop, { ...turn, inTerm }, pauses, onFirst);
  const first = all.filter(({ loop }) => loop.beforeOthers);
  const running: Promise<void>[] = [];
  await Promise.all(first.map((one) => new Promise<void>((onFirst) => running.push(begin(one, onFirst)))));
  await Promise.all([...running, ...all.filter(({ loop }) => !loop.beforeOthers).map((one) => begin(one))]);
}

async function repeat(loop: Loop, turn: TurnContext, pauses: Pauses, onFirst: () => void = () => {}): Promise<void> {
  if (pauses.over) return onFirst();
  while (!pauses.over) {
    pauses.forget();
    const { ms, deaf } = await once(loop, turn);
    onFirst();
    await pauses.pause(ms, deaf);
  }
}

async function once(loop: Loop, turn: TurnContext): Promise<{ readonly ms: number; readonly deaf: boolean }> {
  const vary = (ms: number) => ms * (1 + JITTER * (turn.random() - 0.5));
  try {
    const { again, inMs } = await loop.turn(turn);
    if (again) return { ms: 0, deaf: false };
    return {
      ms: typeof inMs === "number" ? Math.max(1, Math.min(inMs, loop.everyMs)) : vary(loop.everyMs),
      deaf: false,
    };
  } catch (error) {
    if (!(error instanceof TermLostError)) turn.log.warn({ loop: loop.name, err: error }, "a timed task failed");
    return { ms: vary(Math.max(AFTER_ERROR_MS, Math.min(loop.everyMs, 30_000))), deaf: true };
  }
}

/**
 * The pauses of one loop. A pause ends when the loop stops and at the loop's hint, even one that came during the
 * previous turn. A deaf pause, after a failure, ignores hints.
 */
class Pauses {
  #hinted = false;
  #deaf = false;
  #end: () => void = () => {};

  constructor(
    { hint }: Loop,
    private readonly signal: AbortSignal,
    hints: Hints,
  ) {
    if (hint === undefined) return;
    hints.on(hint, () => {
      this.#hinted = true;
      if (!this.#deaf) this.cut();
    });
  }

  get over(): boolean {
    return this.signal.aborted;
  }

  /** Ends the current pause. */
  cut(): void {
    this.#end();
  }

  /** Clears earlier hints, because the coming turn sees their work. */
  forget(): void {
    this.#hinted = false;
  }

  pause(ms: number, deaf: boolean): Promise<void> {
    this.#deaf = deaf;
    if (ms <= 0 || this.over || (this.#hinted && !deaf)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end(), ms);
      this.#end = () => {
        clearTimeout(timer);
        this.#end = () => {};
        resolve();
      };
    });
  }
}
