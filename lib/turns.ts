import { setImmediate } from "node:timers/promises";

/** Longer work without a pause delays all other requests of the process. */
const TURN_MS = 10;

/** Divides long work into turns of about 10 ms, between which the event loop serves other requests. */
export class Turns {
  #began = performance.now();

  /** Await this between two pieces of work. Resolves at once while the turn lasts. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
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
