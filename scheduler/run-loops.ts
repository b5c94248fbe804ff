import type { Database, Transaction } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { keepTerm, type RetrySettings, TermLostError } from "@/lib/queue";

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
  /** A transaction whose first statement makes sure that this scheduler still leads. */
  inTerm<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface Loop {
  readonly name: string;
  readonly everyMs: number;
  /** One bounded piece of work. @returns whether more is waiting, so that the next turn comes at once */
  turn(turn: Turn): Promise<{ readonly again: boolean }>;
}

const JITTER = 0.2;
/** Pause after a turn that failed, whatever its own rhythm: a database that is down is not hammered. */
const AFTER_ERROR_MS = 1000;

/**
 * Runs loops beside each other until the signal aborts. A turn that fails is logged and tried again later; one that finds
 * another leader is quiet, since whoever lost the term is about to stop anyway. Resolves when the last turn has ended.
 */
export async function runLoops(loops: readonly Loop[], turn: Omit<Turn, "inTerm">, signal: AbortSignal): Promise<void> {
  const inTerm: Turn["inTerm"] = (work) =>
    turn.db.transaction(async (tx) => {
      await keepTerm(tx, turn.leader);
      return work(tx);
    });
  await Promise.all(loops.map((loop) => repeat(loop, { ...turn, inTerm }, signal)));
}

async function repeat(loop: Loop, turn: Turn, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const pauseMs = await once(loop, turn);
    if (pauseMs > 0) await pause(pauseMs * (1 + JITTER * (turn.random() - 0.5)), signal);
  }
}

async function once(loop: Loop, turn: Turn): Promise<number> {
  try {
    return (await loop.turn(turn)).again ? 0 : loop.everyMs;
  } catch (error) {
    if (!(error instanceof TermLostError)) turn.log.warn({ loop: loop.name, err: error }, "a timed task failed");
    return Math.max(AFTER_ERROR_MS, Math.min(loop.everyMs, 30_000));
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
