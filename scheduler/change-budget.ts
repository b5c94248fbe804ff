/** So many at once, and then one each so often. */
export interface Bucket {
  readonly most: number;
  readonly everyMs: number;
}

/** How often something may happen, by any number of buckets at once. Times are milliseconds of one clock. */
export class ChangeBudget {
  readonly #left: number[];
  #at: number;

  constructor(
    private readonly buckets: readonly Bucket[],
    now: number,
  ) {
    this.#left = buckets.map(({ most }) => most);
    this.#at = now;
  }

  /** Counts one that happened; answers when the next may. */
  spend(now: number): number {
    const past = now - this.#at;
    this.#at = now;
    const waits = this.buckets.map(({ most, everyMs }, place) => {
      const left = Math.min(most, (this.#left[place] ?? 0) + past / everyMs) - 1;
      this.#left[place] = left;
      return Math.max(0, 1 - left) * everyMs;
    });
    return now + Math.max(0, ...waits);
  }
}
