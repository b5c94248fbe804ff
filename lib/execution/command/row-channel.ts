const MOST_WAITING = 256;

/**
 * Hands rows from a command to a handler. A command whose rows are not taken is made to wait; rows for a handler that
 * stopped reading are dropped.
 */
export class RowChannel implements AsyncIterable<unknown> {
  readonly #waiting: unknown[] = [];
  #ended = false;
  #failure: Error | null = null;
  #discards = false;
  #wakeReader: (() => void) | null = null;
  #wakeWriter: (() => void) | null = null;

  /** Resolves when there is room for the next row. */
  async push(row: unknown): Promise<void> {
    if (this.#discards || this.#ended) return;
    this.#waiting.push(row);
    this.#wakeReader?.();
    while (this.#waiting.length >= MOST_WAITING && !this.#discards) {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
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
    this.#wakeWriter?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    try {
      for (;;) {
        while (this.#waiting.length > 0) {
          yield this.#waiting.shift();
          if (this.#waiting.length < MOST_WAITING) this.#wakeWriter?.();
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
