import type { Readable } from "node:stream";

/** What is taken at once, in bytes: hostile output of this size costs a few milliseconds. */
const PIECE_BYTES = 32 * 1024;

/**
 * Hands the bytes of a stream to `take`, a piece in each turn of the event loop, however fast they come: what waits stays
 * in the pipe, and its writer has to wait too. Resolves when the stream ended, broke or was closed; never rejects.
 */
export function readPaced(stream: Readable, take: (bytes: Buffer) => void): Promise<void> {
  let isWaiting = false;
  const turn = () => {
    isWaiting = false;
    const size = Math.min(stream.readableLength, PIECE_BYTES);
    const bytes: Buffer | null = size === 0 ? stream.read() : stream.read(size);
    if (bytes === null) return;
    take(bytes);
    isWaiting = true;
    setImmediate(turn);
  };
  stream.on("readable", () => {
    if (!isWaiting) turn();
  });
  return new Promise((resolve) => {
    stream
      .once("close", resolve)
      .once("end", resolve)
      .once("error", () => resolve());
  });
}
