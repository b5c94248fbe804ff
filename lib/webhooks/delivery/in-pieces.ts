import type { Socket } from "node:net";

/** A parser makes a few hundred events of one at most. */
const PIECE_BYTES = 4096;

/**
 * Hands what a socket receives to its readers in pieces of 4 KiB, and the size of each to `count` beforehand. Once the
 * socket is destroyed, the rest of what was received is dropped: otherwise a parser goes through all 64 KiB of a read.
 */
export function readInPieces(socket: Socket, count: (bytes: number) => void): void {
  const push = socket.push.bind(socket);
  socket.push = (received: unknown, encoding?: BufferEncoding) => {
    if (!(received instanceof Uint8Array)) return push(received, encoding);
    let wantsMore = true;
    for (let at = 0; at < received.length && !socket.destroyed; at += PIECE_BYTES) {
      const piece = received.subarray(at, at + PIECE_BYTES);
      count(piece.length);
      if (!socket.destroyed) wantsMore = push(piece);
    }
    return wantsMore && !socket.destroyed;
  };
}
