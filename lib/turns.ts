import { setImmediate } from "node:timers/promises";

/** Work that goes on longer than this without a pause delays every other request of the process. */
const TURN_MS = 10;

/** Divides long work into turns of about 10 ms, so that the event loop serves others in between. */
export class Turns {
  #began = performance.now();

  /** To be awaited between two pieces of work; resolves at once while the turn lasts. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < TURN_MS) return;
    await setImmediate();
    this.#began = performance.now();
  }
}
