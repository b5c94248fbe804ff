import type { Readable } from "node:stream";

/** Bytes per turn; hostile output of this size costs a few milliseconds. */
const PIECE_BYTES = 32 * 1024;

/**
 * Passes a stream's bytes to `take`, one piece per turn of the event loop. The rest stays in the pipe, so a fast writer
 * has to wait. Resolves when the stream ended, failed or was closed; never rejects.
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
