import { expect } from "vitest";

/** Five times the tenth of a second for which nothing may hold the event loop. */
const MOST_MS = 500;
const MOST_BYTES = 400_000_000;

/** Runs it and fails if it takes much processor time, which the work of others does not change, or leaves much on the heap. */
export function bounded<Result>(name: string, run: () => Result): Result {
  const [started, heap] = [process.cpuUsage(), process.memoryUsage().heapUsed];
  const result = run();
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1000, name).toBeLessThan(MOST_MS);
  expect(process.memoryUsage().heapUsed - heap, name).toBeLessThan(MOST_BYTES);
  return result;
}

export const times = <Item>(count: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => item(index));
export const named = (count: number, item: (index: number) => unknown): object =>
  Object.fromEntries(times(count, (index) => [index.toString(36), item(index)]));
