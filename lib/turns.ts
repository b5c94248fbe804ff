import { throwIfAbandoned } from "@/lib/async/abandon";
import { currentLine } from "@/lib/db/in-line";

/** Longer work without a pause delays all other requests of the process. */
const TURN_MS = 10;

type Waiting = (() => void)[];

// On globalThis, because routes and pages are bundled separately and share the event loop of one process.
const RESTING = Symbol.for("leasehold.resting-turns");
const slots = globalThis as unknown as { [RESTING]?: Map<string, Waiting> };
slots[RESTING] ??= new Map();
/** Work that waits for a turn, by the line it is in; the lines are in the order of their turns. */
const resting = slots[RESTING];

/** Resolves in a later round of the event loop, in which no other long work takes a turn. */
const rest = (): Promise<void> =>
  new Promise((resolve) => {
    const name = currentLine();
    const line = resting.get(name);
    if (line) return void line.push(resolve);
    if (resting.size === 0) setImmediate(wakeOne);
    resting.set(name, [resolve]);
  });

function wakeOne(): void {
  const [first] = resting;
  if (!first) return;
  const [name, line] = first;
  line.shift()?.();
  resting.delete(name);
  if (line.length > 0) resting.set(name, line);
  if (resting.size > 0) setImmediate(wakeOne);
}

/**
 * Divides long work into turns of about 10 ms, between which the event loop serves other requests. Each round of the
 * event loop has at most one turn, however many pieces of long work are in progress. The lines of `runInLine` take
 * turns, so many pieces of one line delay those of another no more than one piece does.
 */
export class Turns {
  #began = performance.now();

  /**
   * Await this before work that is known to be long, so that its first part is in a turn, too.
   * @throws the reason for which the work was abandoned
   */
  async begin(): Promise<void> {
    throwIfAbandoned();
    await rest();
    throwIfAbandoned();
    this.#began = performance.now();
  }

  /** Await this between two pieces of work. Resolves at once while the turn lasts; throws as `begin` does. */
  async next(): Promise<void> {
    if (performance.now() - this.#began >= TURN_MS) await this.begin();
  }
}

/** Maps items in turns. One item is mapped without a pause. */
export async function mapInTurns<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const turns = new Turns();
  const mapped: R[] = [];
  for (const item of items) {
    mapped.push(map(item));
    await turns.next();
  }
  return mapped;
}
