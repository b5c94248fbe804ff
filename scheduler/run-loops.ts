import type { Database, Transaction } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { keepTerm, type RetrySettings, TermLostError } from "@/lib/queue/scheduler";

export interface Leader {
  readonly leaderId: string;
  readonly term: number;
}

export interface Turn {
  readonly db: Database;
  /** The pool of the web role, for what is done in the name of somebody of a tenant. */
  readonly web: Database;
  readonly leader: Leader;
  readonly log: Logger;
  readonly random: () => number;
  /** What the installation says of retries. */
  readonly retry?: RetrySettings;
  /** Events at this depth start nothing. */
  readonly eventMaxDepth?: number;
  /** Below which folders may be looked at; none: nothing is watched. */
  readonly providerRoots?: readonly string[];
  /** A transaction whose first statement makes sure that this scheduler still leads. */
  inTerm<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface Loop {
  readonly name: string;
  readonly everyMs: number;
  /** A hint by this name ends its pause. */
  readonly hint?: string;
  /** Other loops begin only after the first turn of this one, whether it succeeded or not. */
  readonly beforeOthers?: boolean;
  /**
   * One bounded piece of work. @returns whether more is waiting, so that the next turn comes at once; or in how many
   * milliseconds something will be, when it is known: the pause is then that long, but never longer than `everyMs`
   */
  turn(turn: Turn): Promise<{ readonly again: boolean; readonly inMs?: number | null }>;
}

/** Tells loops that there is something to do. Only a hint: a loop that hears none comes to its turn all the same. */
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
/** Pause after a turn that failed, whatever its own rhythm: a database that is down is not hammered. */
const AFTER_ERROR_MS = 1000;

/**
 * Runs loops beside each other until the signal aborts. A turn that fails is logged and tried again later; one that finds
 * another leader is quiet, since whoever lost the term is about to stop anyway. Resolves when the last turn has ended.
 */
export async function runLoops(
  loops: readonly Loop[],
  turn: Omit<Turn, "inTerm">,
  signal: AbortSignal,
  hints = new Hints(),
): Promise<void> {
  const inTerm: Turn["inTerm"] = (work) =>
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

async function repeat(loop: Loop, turn: Turn, pauses: Pauses, onFirst: () => void = () => {}): Promise<void> {
  if (pauses.over) return onFirst();
  while (!pauses.over) {
    pauses.forget();
    const { ms, deaf } = await once(loop, turn);
    onFirst();
    await pauses.pause(ms, deaf);
  }
}

async function once(loop: Loop, turn: Turn): Promise<{ readonly ms: number; readonly deaf: boolean }> {
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
 * The pauses of one loop: they end when it is to stop, and at its hint, also at one that came during the turn before. A
 * deaf one, after a failure, does not end at hints.
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

  /** Ends the pause under way. */
  cut(): void {
    this.#end();
  }

  /** What was hinted until now, the coming turn sees. */
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
