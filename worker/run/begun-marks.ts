import { Batcher } from "@/lib/async/batcher";
import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { type ClaimedJob, markBegun, type Numbers, openMarks, startAttempts } from "@/lib/queue/worker";
import { processClock } from "../lease/lease-protocol";
import type { JobInFlight } from "./job-in-flight";

const MOST_STARTS = 500;
/** A mark with more ranges than this costs more than it saves. */
const MOST_RANGES = 200;
const MOST_NEVER_BEGUN_RANGES = 100;
const READ_AGAIN_MS = 1000;
/** An attempt that runs longer than this is also marked in its own row, where operators look. */
const LONG_MS = 1000;
const LOOK_FOR_LONG_MS = 500;

export interface BegunMarksOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  /** Called with attempts that have begun. */
  readonly onBegun: (jobs: readonly ClaimedJob[]) => void;
}

/** Answer of `begin`. An expired job is given back, and `expireJobs` ends it. */
export type Begun = "begun" | "lost" | "expired";

const noOf = ({ job }: JobInFlight): number => job.claimNo ?? 0;

/**
 * Marks attempts as begun before their first side effect. Every claimed job has a number, and one mark records which of
 * the jobs that the claim did not begin have begun since. When leases were taken from this worker, the jobs that it
 * claimed before it learned of that are marked one by one under their leases.
 */
export class BegunMarks {
  /** Numbered jobs that have not begun, in the order of their numbers. */
  private readonly waiting = new Set<JobInFlight>();
  /** Jobs that a mark records as begun, the oldest first. */
  private readonly marked = new Set<JobInFlight>();
  /** Numbers of jobs that may be claimed by this worker but never begin: of unanswered claims and unrecorded ends. */
  private neverBegun: Numbers[] = [];
  private lastNumber = 0;
  private highest = 0;
  /** The database's count of leases taken from this worker, and when it was read, by `processClock`. */
  private takenLeases: { readonly taken: number; readonly since: number } | undefined;
  private readAgainAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private readonly batcher: Batcher<JobInFlight, Begun>;

  constructor(private readonly options: BegunMarksOptions) {
    this.batcher = new Batcher((batch) => this.send(batch), { most: MOST_STARTS });
  }

  /** Reserves `count` numbers for the jobs of a claim, and returns the first. */
  numbers(count: number): number {
    const first = this.lastNumber + 1;
    this.lastNumber += count;
    return first;
  }

  /** Records that a claim under these numbers was not answered; the database may have carried it out. */
  unanswered(numbers: Numbers): void {
    this.exclude(numbers);
  }

  private exclude([first, last]: Numbers): void {
    const before = this.neverBegun.at(-1);
    // A lower number may be reported after a later range. The two ranges stay apart.
    if (before && before[0] <= first && before[1] >= first - 1)
      this.neverBegun[this.neverBegun.length - 1] = [before[0], Math.max(before[1], last)];
    else this.neverBegun.push([first, last]);
  }

  /** Records jobs that a claim returned. */
  took(taken: readonly JobInFlight[]): void {
    const numbered = taken.filter(({ job }) => job.claimNo !== null && !job.hasBegun).sort((a, b) => noOf(a) - noOf(b));
    for (const inFlight of numbered) this.waiting.add(inFlight);
    const last = numbered.at(-1);
    if (last) this.highest = Math.max(this.highest, noOf(last));
  }

  /** Records that a job has left the worker. `isRecorded` means the database has its end, or the lease was lost. */
  ended(inFlight: JobInFlight, isRecorded: boolean): void {
    this.marked.delete(inFlight);
    if (this.waiting.delete(inFlight) && !isRecorded) this.exclude([noOf(inFlight), noOf(inFlight)]);
  }

  /** Marks an attempt as begun, unless its lease is lost or the database's clock has passed the job's expires_at. */
  begin(inFlight: JobInFlight): Promise<Begun> {
    return this.batcher.add(inFlight);
  }

  private async send(batch: readonly JobInFlight[]): Promise<Begun[]> {
    const numbered = batch.filter((inFlight) => this.mayMarkTogether(inFlight));
    const areMarked = numbered.length > 0 && (await this.markTogether(new Set(numbered)));
    const single = areMarked ? batch.filter((inFlight) => inFlight.beganAt === undefined) : batch;
    const singly = single.length === 0 ? undefined : await this.markSingly(single);
    const answers = batch.map((one): Begun => {
      if (one.beganAt !== undefined || singly?.begun.has(one.jobId)) return "begun";
      return singly?.expired.has(one.jobId) ? "expired" : "lost";
    });
    this.options.onBegun(batch.flatMap(({ job }, index) => (answers[index] === "begun" ? [job] : [])));
    return answers;
  }

  private mayMarkTogether(inFlight: JobInFlight): boolean {
    // The database has to check a job that may have expired.
    if (inFlight.job.claimNo === null || inFlight.job.hasBegun || !inFlight.isInTime()) return false;
    if (this.takenLeases)
      return inFlight.since > this.takenLeases.since && this.neverBegun.length <= MOST_NEVER_BEGUN_RANGES;
    void this.readTakenCount();
    return false;
  }

  private async markTogether(batch: ReadonlySet<JobInFlight>): Promise<boolean> {
    const waiting = this.rangesWithout(batch);
    if (!this.takenLeases || waiting.length > MOST_RANGES) return false;
    const { db, workerId, log } = this.options;
    try {
      const mark = { workerId, upto: this.highest, waiting, taken: this.takenLeases.taken };
      if (!(await markBegun(db, mark))) {
        this.takenLeases = undefined;
        return false;
      }
    } catch (error) {
      log.debug({ err: error }, "begin marks failed, storing begins one by one");
      // The server may still process this mark. The next `readTakenCount` makes it invalid before a newer mark is sent.
      this.takenLeases = undefined;
      return false;
    }
    const now = performance.now();
    for (const inFlight of batch) {
      // The mark took so long that the job may have expired: it is marked singly, or not at all.
      if (!inFlight.isInTime()) continue;
      inFlight.beganAt = now;
      this.waiting.delete(inFlight);
      this.marked.add(inFlight);
    }
    this.timer ??= setTimeout(() => void this.markLong(), LOOK_FOR_LONG_MS).unref();
    return true;
  }

  private async markSingly(batch: readonly JobInFlight[]): Promise<{ begun: Set<string>; expired: Set<string> }> {
    const jobs = batch.map(({ job }) => job);
    const { begun, expired } = await startAttempts(this.options.db, jobs);
    const ids = new Set(begun);
    for (const one of batch) if (ids.has(one.jobId)) this.waiting.delete(one);
    return { begun: ids, expired: new Set(expired) };
  }

  private rangesWithout(batch: ReadonlySet<JobInFlight>): Numbers[] {
    const ranges: [number, number][] = [];
    for (const inFlight of this.waiting) {
      if (batch.has(inFlight)) continue;
      const no = noOf(inFlight);
      const last = ranges.at(-1);
      if (last && last[1] === no - 1) last[1] = no;
      else ranges.push([no, no]);
    }
    return [...this.neverBegun.filter(([first]) => first <= this.highest), ...ranges];
  }

  /**
   * Reads the count of taken leases that marks are checked against. Marks do not cover jobs claimed before the answer,
   * because their leases may already have been taken.
   */
  async readTakenCount(): Promise<void> {
    const now = performance.now();
    if (now < this.readAgainAt) return;
    this.readAgainAt = now + READ_AGAIN_MS;
    const taken = await openMarks(this.options.db, this.options.workerId).catch(() => null);
    if (taken === null) return;
    this.takenLeases = { taken, since: processClock() };
    this.readAgainAt = Number.NEGATIVE_INFINITY;
  }

  private async markLong(): Promise<void> {
    const before = performance.now() - LONG_MS;
    const long: JobInFlight[] = [];
    for (const inFlight of this.marked) {
      if ((inFlight.beganAt ?? 0) > before) break;
      long.push(inFlight);
    }
    for (const inFlight of long) this.marked.delete(inFlight);
    const leases = long.map(({ job, beganAt }) => ({ ...job, beganAt }));
    // Only shows when an attempt began; the mark already records that it has.
    if (leases.length > 0) await startAttempts(this.options.db, leases).catch(() => undefined);
    this.timer = this.marked.size > 0 ? setTimeout(() => void this.markLong(), LOOK_FOR_LONG_MS).unref() : undefined;
  }
}
