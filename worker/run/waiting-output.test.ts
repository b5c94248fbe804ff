import { describe, expect, test } from "vitest";
import type { Database } from "@/lib/db";
import { heldBytes } from "@/lib/testing/measure/held-memory";
import { AttemptOutputWriter } from "./attempt-output";

const MB = 1024 * 1024;
/**
 * Three megabytes of bytes, which may take twice as much as characters, plus what the process itself sometimes needs.
 */
const MOST_HELD = 8 * MB;

/** A database that never answers. */
const silent = { run: () => new Promise(() => {}) } as unknown as Database;
const newWriter = () =>
  new AttemptOutputWriter({
    db: silent,
    lease: { jobId: "0190a000-0000-7000-8000-000000000001", leaseNo: 1 },
    laneNo: 1,
    mostBytes: 1024 * MB,
    onLost: () => {},
  });

type Line = Parameters<AttemptOutputWriter["write"]>[0];
const KINDS: readonly (readonly [what: string, count: number, line: (n: number) => Line])[] = [
  ["messages", 3000, (n) => ({ stream: "log", level: "info", body: `€${n}`.padEnd(8000, "a") })],
  ["contexts", 3000, (n) => ({ stream: "log", level: "info", body: "a", context: { a: `${n}`.padEnd(8000, "a") } })],
  ["output in large pieces", 1000, (n) => ({ stream: "stdout", body: `€${n}`.padEnd(32_768, "a") })],
  ["output in small pieces", 2 * MB, () => ({ stream: "stdout", body: "a\n" })],
  [
    "output of both streams by turns",
    30_000,
    (n) => ({ stream: n % 2 ? "stdout" : "stderr", body: `${n}`.padEnd(8000, "a") }),
  ],
];

describe("output waiting for a database that does not answer is bounded", () => {
  test.each(KINDS)("%s", async (what, count, line) => {
    const before = await heldBytes();
    const writer = newWriter();
    for (let n = 0; n < count; n += 1) writer.write(line(n));
    const held = (await heldBytes()) - before;
    console.info(`${what}: ${(held / MB).toFixed(1)} MB`);
    expect(held).toBeLessThan(MOST_HELD);
    expect(writer).toBeDefined();
  });
});
