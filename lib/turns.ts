/** Longer work without a pause delays all other requests of the process. */
const TURN_MS = 10;

// On globalThis, because routes and pages are bundled separately and share the event loop of one process.
const RESTING = Symbol.for("leasehold.resting-turns");
const slots = globalThis as unknown as { [RESTING]?: (() => void)[] };
slots[RESTING] ??= [];
const resting = slots[RESTING];

/** Resolves in a later round of the event loop, in which no other long work takes a turn. */
const rest = (): Promise<void> =>
  new Promise((resolve) => {
    if (resting.push(resolve) === 1) setImmediate(wakeOne);
  });

function wakeOne(): void {
  const [next] = resting;
  next?.();
  resting.shift();
  if (resting.length > 0) setImmediate(wakeOne);
}

/**
 * Divides long work into turns of about 10 ms, between which the event loop serves other requests. Each round of the
 * event loop has at most one turn, however many pieces of long work are in progress.
 */
export class Turns {
  #began = performance.now();

  /** Await this between two pieces of work. Resolves at once while the turn lasts. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await rest();
    this.#began = performance.now();
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
