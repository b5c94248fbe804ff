/** A burst of up to `most`, refilled by one every `everyMs`. */
export interface ChangeBucket {
  readonly most: number;
  readonly everyMs: number;
}

/** Limits how often something may happen, by several token buckets at once. Times are in milliseconds, by one clock. */
export class ChangeBudget {
  readonly #left: number[];
  #at: number;

  constructor(
    private readonly buckets: readonly ChangeBucket[],
    now: number,
  ) {
    this.#left = buckets.map(({ most }) => most);
    this.#at = now;
  }

  /** Spends one token of each bucket. Returns when the next change may happen. */
  spend(now: number): number {
    const past = now - this.#at;
    this.#at = now;
    const waits = this.buckets.map(({ most, everyMs }, index) => {
      const left = Math.min(most, (this.#left[index] ?? 0) + past / everyMs) - 1;
      this.#left[index] = left;
      return Math.max(0, 1 - left) * everyMs;
    });
    return now + Math.max(0, ...waits);
  }
}
