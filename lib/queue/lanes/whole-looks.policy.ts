/** A whole look that takes longer than this reads over dead index entries, or the server is busy. */
const COSTLY_MS = 10;
/** True of what a whole look takes that reads over many dead entries. */
export const isCostly = (ms: number): boolean => ms > COSTLY_MS;

/** Five seconds in units of sort keys: a job that is promoted late comes that much before those enqueued since. */
export const SORT_KEY_SLACK = 5 / 600;
/** Whole looks may take one part in so many of the time, but come at least so often. */
const SHARE = 20;
const AT_LEAST_MS = 10_000;
/** Requested whole looks come at most once a second and take at most half of the time. */
const ASKED_PAUSE_MS = 1000;
const ASKED_SHARE = 2;

/**
 * Decides between whole looks through an index and partial ones. A session that holds an old snapshot keeps an index
 * entry of every row that left the index since, and a whole look reads over all of them. While whole looks take longer
 * than 10 ms, they are limited to a twentieth of the time, but come at least every `atLeastMs` (10 seconds if omitted).
 * Times are those of the process's monotonic clock, in ms.
 */
export class WholeLooks {
  private costMs = 0;
  private tookAt = Number.NEGATIVE_INFINITY;
  private asked = false;

  constructor(private readonly atLeastMs = AT_LEAST_MS) {}

  get isCostly(): boolean {
    return isCostly(this.costMs);
  }

  /** Whether the next look has to be a whole one. */
  isDue(now: number): boolean {
    if (!this.isCostly) return true;
    const pause = Math.min(this.costMs * SHARE, this.atLeastMs);
    const askedPause = Math.min(pause, Math.max(ASKED_PAUSE_MS, this.costMs * ASKED_SHARE));
    return now - this.tookAt >= (this.asked ? askedPause : pause);
  }

  /** A whole look ended at `now`. */
  took(ms: number, now: number): void {
    this.costMs = ms;
    this.tookAt = now;
    this.asked = false;
  }

  /** Something may have appeared where partial looks do not reach: the next whole look comes within a second or so. */
  ask(): void {
    this.asked = true;
  }
}

/** What a look at rows that come due found. */
export interface LookedTo {
  /** From here on the next partial look begins; null = the look did not get that far. */
  readonly lookedTo: Date | null;
  readonly tookMs: number;
}

/**
 * For rows that come due in the order of an index: where a look begins. A partial one begins where the last one ended,
 * less five seconds, for rows whose transaction committed late. Rows that appear before that, and rows that another
 * transaction had locked, are found by the next whole look.
 */
export class DueMark {
  private readonly looks = new WholeLooks();
  private from: Date | undefined;

  /** Where the next look begins; undefined = at the beginning. */
  next(now: number): Date | undefined {
    return this.looks.isDue(now) ? undefined : this.from;
  }

  /** Call it after the commit of a look that began at `from`. */
  looked(from: Date | undefined, { lookedTo, tookMs }: LookedTo, now: number): void {
    if (from === undefined) this.looks.took(tookMs, now);
    if (lookedTo) this.from = lookedTo;
  }
}
