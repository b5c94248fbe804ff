import type { IncomingMessage } from "node:http";

/** Enough for the probes of an installation, which come one at a time. */
const AT_ONCE = 2;

/**
 * Health routes need no sign-in, and each request takes the framework a few milliseconds. So two run at once, and the
 * others wait in the order of their arrival, with a turn of the event loop between them.
 */
export class HealthTurns {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Settles as `work` does once it had its turn, or when the connection closes. */
  async run({ socket }: IncomingMessage, work: () => Promise<void>): Promise<void> {
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    let onClose: (() => void) | undefined;
    try {
      if (socket.destroyed) return;
      // The framework does not settle for a client that left.
      const closed = new Promise<void>((resolve) => {
        onClose = resolve;
        socket.once("close", resolve);
      });
      await Promise.race([work(), closed]);
    } finally {
      if (onClose) socket.off("close", onClose);
      setImmediate(() => this.#next());
    }
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
