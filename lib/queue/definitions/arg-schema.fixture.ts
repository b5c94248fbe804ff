import { expect } from "vitest";

/** No check may block the event loop for 100 ms. A busy machine gets five times that. */
const MOST_MS = 500;
const MOST_BYTES = 400_000_000;

const ROUNDS = 3;

/**
 * Runs `run` and fails if it takes too much processor time or leaves too much on the heap. Other processes that empty
 * the processor's caches make the same work slower, so the shortest of up to three rounds counts.
 */
export function bounded<Result>(name: string, run: () => Result): Result {
  for (let round = 1; ; round += 1) {
    const [started, heap] = [process.cpuUsage(), process.memoryUsage().heapUsed];
    const result = run();
    const { user, system } = process.cpuUsage(started);
    const ms = (user + system) / 1000;
    expect(process.memoryUsage().heapUsed - heap, name).toBeLessThan(MOST_BYTES);
    if (ms >= MOST_MS && round < ROUNDS) continue;
    expect(ms, name).toBeLessThan(MOST_MS);
    return result;
  }
}

export const times = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
export const named = (count: number, item: (index: number) => unknown): object =>
  Object.fromEntries(times(count, (index) => [index.toString(36), item(index)]));
