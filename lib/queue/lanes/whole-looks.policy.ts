/** A full scan that takes longer reads dead index entries, or the server is busy. */
const COSTLY_MS = 10;
/** True if a full scan of this duration probably reads many dead index entries. */
export const isCostly = (ms: number): boolean => ms > COSTLY_MS;

/** Five seconds in sort-key units: how far a job that was promoted late may sort before jobs enqueued since. */
export const SORT_KEY_SLACK = 5 / 600;
/** While full scans are costly, they take at most 1/SHARE of the time, but run at least every AT_LEAST_MS. */
const SHARE = 20;
const AT_LEAST_MS = 10_000;
/** Requested full scans run at most once a second and take at most half of the time. */
const ASKED_PAUSE_MS = 1000;
const ASKED_SHARE = 2;

/**
 * Decides between full and partial scans of an index. While a session holds an old snapshot, the index keeps an entry
 * of every row that left it since, and a full scan reads all of them.
 * While a full scan takes longer than 10 ms, full scans get a twentieth of the time, but run at least every `atLeastMs`
 * (10 seconds by default). Times are milliseconds of the process's monotonic clock.
 */
export class WholeLooks {
  private costMs = 0;
  private tookAt = Number.NEGATIVE_INFINITY;
  private asked = false;

  constructor(private readonly atLeastMs = AT_LEAST_MS) {}

  get isCostly(): boolean {
    return isCostly(this.costMs);
  }

  /** True if the next scan has to be a full one. */
  isDue(now: number): boolean {
    if (!this.isCostly) return true;
    const pause = Math.min(this.costMs * SHARE, this.atLeastMs);
    const askedPause = Math.min(pause, Math.max(ASKED_PAUSE_MS, this.costMs * ASKED_SHARE));
    return now - this.tookAt >= (this.asked ? askedPause : pause);
  }

  /** Records that a full scan of `ms` ended at `now`. */
  took(ms: number, now: number): void {
    this.costMs = ms;
    this.tookAt = now;
    this.asked = false;
  }

  /** Requests a full scan within a second or so, because rows may have appeared where partial scans do not reach. */
  ask(): void {
    this.asked = true;
  }
}

/** The result of a scan for due rows. */
export interface LookedTo {
  /** Where the next partial scan begins; null = the scan did not get that far. */
  readonly lookedTo: Date | null;
  readonly tookMs: number;
}

/**
 * Decides where a scan for due rows begins, for rows that come due in the order of an index.
 * A partial scan begins five seconds before the end of the last one, to include rows whose transaction committed late.
 * Rows that appear before that, and rows that another transaction had locked, are found by the next full scan.
 */
export class DueCursor {
  private readonly looks = new WholeLooks();
  private from: Date | undefined;

  /** Where the next scan begins; undefined = at the beginning of the index. */
  next(now: number): Date | undefined {
    return this.looks.isDue(now) ? undefined : this.from;
  }

  /** Records a scan that began at `from`. Call it after the scan's transaction has committed. */
  looked(from: Date | undefined, { lookedTo, tookMs }: LookedTo, now: number): void {
    if (from === undefined) this.looks.took(tookMs, now);
    if (lookedTo) this.from = lookedTo;
  }
}
