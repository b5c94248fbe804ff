import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Most requests in progress per connection. Browsers and proxies send the next request after the answer. */
export const MOST_IN_PROGRESS = 16;

/**
 * Limits pipelining: the requests that a client sends ahead on one connection. Node.js hands over all requests of a
 * segment in one turn, up to two thousand, and keeps their answers in memory until the client reads them.
 */
export class SentAhead {
  readonly #inProgress = new WeakMap<Socket, number>();

  /** Returns true if the request may go on. Otherwise closes its connection, with all its requests. */
  admits({ socket }: IncomingMessage, res: ServerResponse): boolean {
    if (socket.destroyed) return false;
    const before = this.#inProgress.get(socket) ?? 0;
    if (before >= MOST_IN_PROGRESS) {
      socket.destroy();
      return false;
    }
    this.#inProgress.set(socket, before + 1);
    res.once("close", () => this.#inProgress.set(socket, (this.#inProgress.get(socket) ?? 1) - 1));
    return true;
  }
}
