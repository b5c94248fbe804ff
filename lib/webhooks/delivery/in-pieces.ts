import type { Socket } from "node:net";

/** A parser emits at most a few hundred events for a piece of this size. */
const PIECE_BYTES = 4096;

/**
 * Hands received bytes to a socket's readers in pieces of 4 KiB, and reports each piece's size to `count` first. Once
 * the socket is destroyed, the rest is dropped; otherwise a parser would go through all 64 KiB of a read.
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
