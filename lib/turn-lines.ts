/** A line of waiting callers. */
export interface WaitingLine {
  readonly name: string;
  /** Lines with `first` get three of four turns, so other lines neither delay them nor are starved by them. */
  readonly first?: boolean;
}

/** Thrown when too many callers of a line wait. */
export class TooManyWaiting extends Error {
  override readonly name = "TooManyWaiting";
}

interface Limits {
  /** Maximum number of admitted callers. */
  readonly atOnce: number;
  /** Maximum number of admitted callers of one line, by its name. Default: `atOnce`. */
  readonly ofLine?: (name: string) => number;
  /** Maximum number of waiting callers of one line; one more is refused. Default: unlimited. */
  readonly mostWaiting?: number;
}

interface Waiter {
  readonly line: string;
  admit(): void;
  refuse(error: Error): void;
}

/** Lines by name, in the order of their turns. */
type Lines = Map<string, Set<Waiter>>;

const FIRST_IN_A_ROW = 3;

/**
 * Admits a limited number of callers at once. The others wait in lines, and the lines take turns, so many callers of
 * one line delay no other line. A limit per line keeps the callers of one line from taking all slots.
 */
export class TurnLines {
  readonly #limits: Limits;
  readonly #first: Lines = new Map();
  readonly #others: Lines = new Map();
  readonly #admittedOf = new Map<string, number>();
  #admitted = 0;
  #firstInARow = 0;
  #closed: Error | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Number of waiting callers. */
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
  async enter(line: WaitingLine, patienceMs?: number): Promise<() => void> {
    if (this.#closed) throw this.#closed;
    if (this.#admitted < this.#limits.atOnce && !this.#isFull(line.name)) this.#count(line.name, 1);
    else await this.#wait(line, patienceMs);
    return () => this.#leave(line.name);
  }

  /** Refuses all waiting callers and all later ones. */
  close(error: Error): void {
    this.#closed = error;
    for (const lines of [this.#first, this.#others]) {
      for (const line of lines.values()) for (const waiter of line) waiter.refuse(error);
      lines.clear();
    }
  }

  async #wait({ name, first }: WaitingLine, patienceMs: number | undefined): Promise<void> {
    const { mostWaiting = Number.POSITIVE_INFINITY } = this.#limits;
    const lines = first ? this.#first : this.#others;
    const line = lines.get(name) ?? new Set();
    if (line.size >= mostWaiting) throw new TooManyWaiting(`more than ${mostWaiting} callers of ${name} wait`);
    lines.set(name, line);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter = { line: name, admit: resolve, refuse: reject };
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

  #isFull(name: string): boolean {
    return (this.#admittedOf.get(name) ?? 0) >= (this.#limits.ofLine?.(name) ?? Number.POSITIVE_INFINITY);
  }

  #count(name: string, change: 1 | -1): void {
    this.#admitted += change;
    const left = (this.#admittedOf.get(name) ?? 0) + change;
    if (left === 0) this.#admittedOf.delete(name);
    else this.#admittedOf.set(name, left);
  }

  /** Frees one slot, so at most one caller is admitted: of any line, or of this one if it was full. */
  #leave(name: string): void {
    this.#count(name, -1);
    const next = this.#takeNext();
    if (!next) return;
    this.#count(next.line, 1);
    next.admit();
  }

  #takeNext(): Waiter | undefined {
    const isOthersTurn = this.#first.size === 0 || (this.#firstInARow >= FIRST_IN_A_ROW && this.#others.size > 0);
    this.#firstInARow = isOthersTurn ? 0 : this.#firstInARow + 1;
    const [lines, rest] = isOthersTurn ? [this.#others, this.#first] : [this.#first, this.#others];
    return this.#takeFrom(lines) ?? this.#takeFrom(rest);
  }

  #takeFrom(lines: Lines): Waiter | undefined {
    for (const [name, line] of lines) {
      const [next] = line;
      if (!next || this.#isFull(name)) continue;
      line.delete(next);
      lines.delete(name);
      if (line.size > 0) lines.set(name, line);
      return next;
    }
    return undefined;
  }
}
