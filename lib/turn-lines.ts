/** A line of waiting callers. */
export interface Line {
  readonly name: string;
  /** Lines that go first get three of four turns, so that others neither delay them nor are kept out by them. */
  readonly first?: boolean;
}

/** Too many callers of a line wait. */
export class TooManyWaiting extends Error {
  override readonly name = "TooManyWaiting";
}

interface Limits {
  /** Callers admitted at once. */
  readonly atOnce: number;
  /** Callers of one line that wait; one more is refused. Default: any number. */
  readonly mostWaiting?: number;
}

interface Waiter {
  admit(): void;
  refuse(error: Error): void;
}

/** By name, the line whose turn is next first. */
type Lines = Map<string, Set<Waiter>>;

const FIRST_IN_A_ROW = 3;

/**
 * Admits a limited number of callers at once. The others wait in lines, and the lines take turns, so that many callers of
 * one line delay no other line.
 */
export class TurnLines {
  readonly #limits: Limits;
  readonly #first: Lines = new Map();
  readonly #others: Lines = new Map();
  #admitted = 0;
  #firstInARow = 0;
  #closed: Error | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Callers that wait. */
  get waiting(): number {
    let sum = 0;
    for (const lines of [this.#first, this.#others]) for (const line of lines.values()) sum += line.size;
    return sum;
  }

  /**
   * Waits for the caller's turn. Returns the function that ends the turn; call it once. A caller that waits longer than
   * `patienceMs` leaves its line.
   * @throws TooManyWaiting
   * @throws Error after `patienceMs`, or the error that closed the lines
   */
  async enter(line: Line, patienceMs?: number): Promise<() => void> {
    if (this.#closed) throw this.#closed;
    if (this.#admitted < this.#limits.atOnce) this.#admitted += 1;
    else await this.#wait(line, patienceMs);
    return () => this.#leave();
  }

  /** Refuses all callers that wait, and all that come later. */
  close(error: Error): void {
    this.#closed = error;
    for (const lines of [this.#first, this.#others]) {
      for (const line of lines.values()) for (const waiter of line) waiter.refuse(error);
      lines.clear();
    }
  }

  async #wait({ name, first }: Line, patienceMs: number | undefined): Promise<void> {
    const { mostWaiting = Number.POSITIVE_INFINITY } = this.#limits;
    const lines = first ? this.#first : this.#others;
    const line = lines.get(name) ?? new Set();
    if (line.size >= mostWaiting) throw new TooManyWaiting(`more than ${mostWaiting} callers of ${name} wait`);
    lines.set(name, line);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter = { admit: resolve, refuse: reject };
        line.add(waiter);
        if (patienceMs === undefined) return;
        timer = setTimeout(() => {
          line.delete(waiter);
          if (line.size === 0) lines.delete(name);
          reject(new Error("timeout exceeded when waiting for a turn"));
        }, patienceMs);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  #leave(): void {
    const next = this.#takeNext();
    if (next) next.admit();
    else this.#admitted -= 1;
  }

  #takeNext(): Waiter | undefined {
    const isOthersTurn = this.#first.size === 0 || (this.#firstInARow >= FIRST_IN_A_ROW && this.#others.size > 0);
    this.#firstInARow = isOthersTurn ? 0 : this.#firstInARow + 1;
    return takeFrom(isOthersTurn ? this.#others : this.#first);
  }
}

function takeFrom(lines: Lines): Waiter | undefined {
  const [turn] = lines;
  if (turn === undefined) return undefined;
  const [name, line] = turn;
  const [next] = line;
  if (next) line.delete(next);
  lines.delete(name);
  if (line.size > 0) lines.set(name, line);
  return next;
}
