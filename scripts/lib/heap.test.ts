import { afterEach, expect, test, vi } from "vitest";
import { heapFlags } from "./heap.mjs";

const MB = 1024 ** 2;
const withLimit = (bytes: number) => vi.spyOn(process, "constrainedMemory").mockReturnValue(bytes);
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test("OPS-13 in a small container the heap limit is well below the container's", () => {
  withLimit(256 * MB);
  expect(heapFlags()).toEqual(["--max-old-space-size=153"]);
});

test.each([0, 2 ** 64, 16 * 1024 * MB])("OPS-13 with %i bytes Node's default applies", (bytes) => {
  withLimit(bytes);
  expect(heapFlags()).toEqual([]);
});

test("OPS-13 an explicit heap limit is kept", () => {
  withLimit(256 * MB);
  vi.stubEnv("NODE_OPTIONS", "--max-old-space-size=100");
  expect(heapFlags()).toEqual([]);
});
