const MOST_WAITING = 256;
/** Of JSON text. As values, small ones in a row take fifty times as much. */
const MOST_WAITING_BYTES = 128 * 1024;

interface Row {
  readonly value: unknown;
  readonly size: number;
}

/**
 * Hands rows from a command to a handler. A command whose rows are not taken is made to wait; rows for a handler that
 * stopped reading are dropped.
 */
export class RowChannel implements AsyncIterable<unknown> {
  readonly #waiting: Row[] = [];
  #bytes = 0;
  #ended = false;
  #failure: Error | null = null;
  #discards = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /** Resolves when there is room for the next row. `size`: bytes of its JSON text. */
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

  /** No row follows. With an error, the reader gets it after the rows that came before. */
  end(failure: Error | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#wakeReader?.();
  }

  /** Drops what waits and what comes, so that the command is not held up. */
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
