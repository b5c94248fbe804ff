const MOST_WAITING = 256;
/** Limit on JSON text. As values, a row of small ones takes fifty times as much. */
const MOST_WAITING_BYTES = 128 * 1024;

interface Row {
  readonly value: unknown;
  readonly size: number;
}

/**
 * Passes rows from a command to a handler with backpressure: the command waits while its rows are not read. Rows for a
 * handler that stopped reading are dropped.
 */
export class RowChannel implements AsyncIterable<unknown> {
  readonly #waiting: Row[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Error | null = null;
  #discards = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /** Adds a row and resolves when there is room for the next. `size`: bytes of its JSON text. */
  async push(value: unknown, size: number): Promise<void> {
    if (this.#discards || this.#ended) return;
    this.#waiting.push({ value, size });
    this.#bytes += size;
    this.#wakeReader?.();
    while (this.#isFull && !this.#discards) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING || this.#bytes >= MOST_WAITING_BYTES;
  }

  /** Ends the rows. The reader gets `failure` after the rows that came before. */
  end(failure: Error | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#wakeReader?.();
  }

  /** Drops waiting and future rows, so that the command is not blocked. */
  discard(): void {
    this.#discards = true;
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.#wakeWriter?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    try {
      for (;;) {
        for (let row = this.#waiting.shift(); row !== undefined; row = this.#waiting.shift()) {
          this.#bytes -= row.size;
          yield row.value;
          if (!this.#isFull) this.#wakeWriter?.();
        }
        if (this.#ended) break;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
      if (this.#failure) throw this.#failure;
    } finally {
      this.discard();
    }
  }
}
