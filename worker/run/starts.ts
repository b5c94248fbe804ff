import { Batcher } from "@/lib/async/batcher";
import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { type ClaimedJob, type Numbers, noteStarts, openStarts, startAttempts } from "@/lib/queue/worker";
import { processClock } from "../lease/lease-protocol";
import type { Held } from "./held";

const MOST_STARTS = 500;
/** A note in more pieces costs more than it saves. */
const MOST_RANGES = 200;
const MOST_UNHEARD = 100;
const OPEN_AGAIN_MS = 1000;
/** What still runs after so long is marked in its own row too, where people look. */
const LONG_MS = 1000;
const LOOK_FOR_LONG_MS = 500;

export interface StartsOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  /** Hears of attempts that have begun. */
  readonly onStarted: (jobs: readonly ClaimedJob[]) => void;
}

/** Whether an attempt has begun. An expired job is given back, and the sweep ends it. */
export type Begun = "begun" | "lost" | "expired";

const noOf = ({ job }: Held): number => job.claimNo ?? 0;

/**
 * Marks attempts as begun before their first side effect. Jobs that were claimed ahead have numbers, and one note says
 * of all of them which have begun; others, and all of them when leases were taken from this worker, are marked one by
 * one under their fence.
 */
export class Starts {
  /** Those with a number that have not begun, in the order of their numbers. */
  private readonly waiting = new Set<Held>();
  /** Those that a note says have begun, the oldest first. */
  private readonly noted = new Set<Held>();
  /** Numbers of jobs that were claimed, it may be, but have not come here, and that nobody begins. */
  private unheard: Numbers[] = [];
  private lastNumber = 0;
  private highest = 0;
  /** What the database said of leases taken from this worker, and when, by `processClock`. */
  private known: { readonly taken: number; readonly since: number } | undefined;
  private openAgainAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private readonly batcher: Batcher<Held, Begun>;

  constructor(private readonly options: StartsOptions) {
    this.batcher = new Batcher((batch) => this.send(batch), { most: MOST_STARTS });
  }

  /** The first of so many numbers, which a claim gives to what it does not start at once. */
  numbers(count: number): number {
    const first = this.lastNumber + 1;
    this.lastNumber += count;
    return first;
  }

  /** A claim under these numbers was not answered: it may have been done. */
  lost([first, last]: Numbers): void {
    const before = this.unheard.at(-1);
    // Of an older job than those, the number comes after theirs: the two stay apart.
    if (before && before[0] <= first && before[1] >= first - 1)
      this.unheard[this.unheard.length - 1] = [before[0], Math.max(before[1], last)];
    else this.unheard.push([first, last]);
  }

  /** Jobs came from a claim. */
  took(taken: readonly Held[]): void {
    const numbered = taken.filter(({ job }) => job.claimNo !== null && !job.started).sort((a, b) => noOf(a) - noOf(b));
    for (const held of numbered) this.waiting.add(held);
    const last = numbered.at(-1);
    if (last) this.highest = Math.max(this.highest, noOf(last));
  }

  /** A job is not held any more; `isRecorded` = the database knows of its end, or the lease was lost. */
  ended(held: Held, isRecorded: boolean): void {
    this.noted.delete(held);
    if (this.waiting.delete(held) && !isRecorded) this.lost([noOf(held), noOf(held)]);
  }

  /** Marks an attempt as begun, unless its lease is lost or the database's clock has passed the job's expires_at. */
  begin(held: Held): Promise<Begun> {
    return this.batcher.add(held);
  }

  private async send(batch: readonly Held[]): Promise<Begun[]> {
    const numbered = batch.filter((held) => this.mayNote(held));
    const isNoted = numbered.length > 0 && (await this.note(new Set(numbered)));
    const single = isNoted ? batch.filter((held) => held.beganAt === undefined) : batch;
    const marked = single.length === 0 ? undefined : await this.mark(single);
    const answers = batch.map((one): Begun => {
      if (one.beganAt !== undefined || marked?.begun.has(one.jobId)) return "begun";
      return marked?.expired.has(one.jobId) ? "expired" : "lost";
    });
    this.options.onStarted(batch.flatMap(({ job }, index) => (answers[index] === "begun" ? [job] : [])));
    return answers;
  }

  private mayNote(held: Held): boolean {
    // The database has to look at a job that may have expired.
    if (held.job.claimNo === null || held.job.started || !held.isInTime()) return false;
    if (this.known) return held.since > this.known.since && this.unheard.length <= MOST_UNHEARD;
    void this.open();
    return false;
  }

  private async note(batch: ReadonlySet<Held>): Promise<boolean> {
    const waiting = this.rangesWithout(batch);
    if (!this.known || waiting.length > MOST_RANGES) return false;
    const { db, workerId, log } = this.options;
    try {
      const note = { workerId, upto: this.highest, waiting, taken: this.known.taken };
      if (!(await noteStarts(db, note))) {
        this.known = undefined;
        return false;
      }
    } catch (error) {
      log.debug({ err: error }, "starts could not be noted; they are marked one by one");
      // The server may come to it later. To open again fences it off, so that it cannot overwrite a newer note.
      this.known = undefined;
      return false;
    }
    const now = performance.now();
    for (const held of batch) {
      // The note took so long that the job may have expired: it is marked like the others, or refused.
      if (!held.isInTime()) continue;
      held.beganAt = now;
      this.waiting.delete(held);
      this.noted.add(held);
    }
    this.timer ??= setTimeout(() => void this.markLong(), LOOK_FOR_LONG_MS).unref();
    return true;
  }

  private async mark(batch: readonly Held[]): Promise<{ begun: Set<string>; expired: Set<string> }> {
    const jobs = batch.map(({ job }) => job);
    const { begun, expired } = await startAttempts(this.options.db, jobs);
    const ids = new Set(begun);
    for (const one of batch) if (ids.has(one.jobId)) this.waiting.delete(one);
    return { begun: ids, expired: new Set(expired) };
  }

  private rangesWithout(batch: ReadonlySet<Held>): Numbers[] {
    const ranges: [number, number][] = [];
    for (const held of this.waiting) {
      if (batch.has(held)) continue;
      const no = noOf(held);
      const last = ranges.at(-1);
      if (last && last[1] === no - 1) last[1] = no;
      else ranges.push([no, no]);
    }
    return [...this.unheard.filter(([first]) => first <= this.highest), ...ranges];
  }

  /** Asks what notes have to know. What was claimed before the answer came may have been taken from us before it. */
  async open(): Promise<void> {
    const now = performance.now();
    if (now < this.openAgainAt) return;
    this.openAgainAt = now + OPEN_AGAIN_MS;
    const taken = await openStarts(this.options.db, this.options.workerId).catch(() => null);
    if (taken === null) return;
    this.known = { taken, since: processClock() };
    this.openAgainAt = Number.NEGATIVE_INFINITY;
  }

  private async markLong(): Promise<void> {
    const before = performance.now() - LONG_MS;
    const long: Held[] = [];
    for (const held of this.noted) {
      if ((held.beganAt ?? 0) > before) break;
      long.push(held);
    }
    for (const held of long) this.noted.delete(held);
    const leases = long.map(({ job, beganAt }) => ({ ...job, beganAt }));
    // It shows when an attempt began, and no more: that it has is noted.
    if (leases.length > 0) await startAttempts(this.options.db, leases).catch(() => undefined);
    this.timer = this.noted.size > 0 ? setTimeout(() => void this.markLong(), LOOK_FOR_LONG_MS).unref() : undefined;
  }
}
