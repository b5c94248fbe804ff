import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Most requests in progress per connection. Browsers and proxies send the next request after the answer. */
export const MOST_IN_PROGRESS = 16;

/**
 * Serves the requests of a connection one after the other, and limits pipelining: the requests that a client sends
 * ahead. Node.js hands over all requests of a segment in one turn, up to two thousand. A response behind an unread one
 * gets neither `finish` nor `close` when its connection closes, so its handler could never release what it holds.
 */
export class SentAhead {
  /** The requests in progress of each connection; the first one is being answered, the others wait. */
  readonly #lines = new WeakMap<Socket, (() => void)[]>();

  /**
   * Calls `serve` once every earlier request of the connection was answered and its answer sent. Never calls it if the
   * connection closes before. A request beyond the limit closes its connection, with all its requests.
   */
  serveInTurn({ socket }: IncomingMessage, res: ServerResponse, serve: () => void): void {
    if (!socket.writable) return;
    const line = this.#lines.get(socket) ?? [];
    if (line.length >= MOST_IN_PROGRESS) {
      socket.destroy();
      return;
    }
    const begin = () => {
      res.once("close", () => this.#passOn(socket, line));
      serve();
    };
    line.push(begin);
    this.#lines.set(socket, line);
    if (line.length === 1) begin();
  }

  #passOn(socket: Socket, line: (() => void)[]): void {
    line.shift();
    if (socket.writable) line[0]?.();
    else line.length = 0;
  }
}
