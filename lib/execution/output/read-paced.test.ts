import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { readPaced } from "./read-paced";

test("reads a bounded chunk in each turn of the event loop, and every byte", async () => {
  const sent = Buffer.alloc(1_000_000, "-eyJaaaaaa");
  const taken: { readonly size: number; readonly turn: number }[] = [];
  const parts: Buffer[] = [];
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  // One chunk, as a handler's thread passes it on.
  await readPaced(Readable.from([sent], { objectMode: false }), (bytes) => {
    taken.push({ size: bytes.length, turn });
    parts.push(bytes);
  });
  isOver = true;
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
  expect(Math.max(...taken.map(({ size }) => size))).toBeLessThanOrEqual(32 * 1024);
  expect(new Set(taken.map((one) => one.turn)).size).toBe(taken.length);
});

test("ends when the stream breaks or is closed", async () => {
  const [broken, closed] = [new PassThrough(), new PassThrough()];
  const ends = [broken, closed].map((stream) => readPaced(stream, () => {}));
  broken.destroy(new Error("cut off"));
  closed.destroy();
  await Promise.all(ends);
});
