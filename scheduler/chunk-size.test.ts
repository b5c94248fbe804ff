import { expect, test } from "vitest";
import { nextChunkSize } from "./chunk-size";

test.each([
  ["takes the time meant for it", 100, 200, 100],
  ["takes a little more", 100, 250, 80],
  ["takes far too long", 1000, 60_000, 100],
  ["was undone", 1000, null, 100],
  ["takes no time", 100, 0, 200],
  ["has one job that takes far too long", 1, 60_000, 1],
] as const)("the chunk after one that %s", (_case, size, tookMs, next) => {
  expect(nextChunkSize(size, tookMs)).toBe(next);
});

test("chunks of jobs that take five milliseconds each settle at 40 jobs", () => {
  let size = nextChunkSize(1000, null);
  for (let chunk = 0; chunk < 10; chunk += 1) size = nextChunkSize(size, size * 5);
  expect(size).toBe(40);
});
