import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import {
  type ClaimedJob,
  claimFromLanes,
  describeLanes,
  FairShare,
  type HeldBack,
  type KnownLane,
  pollWork,
} from "@/lib/queue";
import { LaneDirectory } from "./lane-directory";
import { processClock } from "./lease-protocol";
import type { Served } from "./served";

/** A lost wake-up costs at most this. */
const POLL_MS = 1000;
const LANES_PER_POLL = 256;
const AFTER_ERROR_MS = 1000;
const SOONEST_RETRY_MS = 5;

export interface ClaimerOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  readonly random: () => number;
  /** Free places just now. */
  readonly free: () => number;
  readonly served: () => Served;
  /** Takes over claimed jobs, whose leases count from `since` (by `processClock`). */
  readonly onClaimed: (jobs: readonly ClaimedJob[], since: number) => void;
  /** Hears what each poll saw. */
  readonly onPolled: (poll: Awaited<ReturnType<typeof pollWork>>) => Promise<void> | void;
}

/**
 * Keeps the free places of a worker filled: claims at once when a wake-up names a lane, polls once a second whatever
 * happens, and never has two claims under way. Ends when it is told to.
 */
export class Claimer {
  private readonly directory = new LaneDirectory();
  private readonly share = new FairShare();
  private timer: NodeJS.Timeout | undefined;
  private unparkTimer: NodeJS.Timeout | undefined;
  private afterLane = 0;
  /** When the database last answered a poll, by the monotonic clock. */
  polledAt = Number.NEGATIVE_INFINITY;
  private turning: Promise<void> | undefined;
  private again = false;
  private pollDue = true;
  private stopped = false;

  constructor(private readonly options: ClaimerOptions) {}

  start(): void {
    this.schedulePoll(0);
  }

  /** A wake-up: these lanes have ready work, or (`*`) something has. */
  wake(laneNos: readonly number[] | "*"): void {
    if (laneNos === "*") {
      this.pollSoon();
      return;
    }
    const unknown = this.directory.woken(laneNos);
    if (unknown.length === 0) this.turn();
    else void this.describe(unknown);
  }

  /** A place became free, that of a job of this lane if it was one. */
  freed(laneNo?: number): void {
    // It may have made room under a limit.
    if (laneNo !== undefined && this.directory.isLimited(laneNo)) this.directory.unpark();
    this.turn();
  }

  pollSoon(): void {
    this.pollDue = true;
    this.turn();
  }

  /** Claims nothing from now on; resolves when the claim that is under way has been handed over. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.unparkTimer);
    await this.turning;
  }

  private schedulePoll(inMs: number): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.timer = setTimeout(() => this.pollSoon(), inMs);
  }

  private turn(): void {
    if (this.stopped) return;
    if (this.turning) {
      this.again = true;
      return;
    }
    this.turning = this.work()
      .catch((error: unknown) => {
        this.options.log.warn({ err: error }, "claiming failed");
        this.schedulePoll(AFTER_ERROR_MS * (0.5 + this.options.random()));
      })
      .finally(() => {
        this.turning = undefined;
        if (this.again) {
          this.again = false;
          this.turn();
        }
      });
  }

  private async work(): Promise<void> {
    if (this.pollDue) await this.poll();
    while (!this.stopped && this.options.free() > 0 && (await this.claim())) {
      // Another round: places are left and lanes may have more.
    }
  }

  private async poll(): Promise<void> {
    this.pollDue = false;
    const { db, workerId } = this.options;
    const polled = await pollWork(db, { workerId, afterLane: this.afterLane, maxLanes: LANES_PER_POLL });
    this.afterLane = polled.nextAfterLane;
    this.polledAt = performance.now();
    this.directory.found(polled.lanes);
    await this.options.onPolled(polled);
    this.schedulePoll(POLL_MS);
  }

  /** @returns whether another claim may find something */
  private async claim(): Promise<boolean> {
    const { db, workerId, random, onClaimed } = this.options;
    const served = this.options.served();
    const lanes = this.directory.lanes().filter((lane) => this.keepServed(lane, served));
    if (lanes.length === 0) return false;
    const free = this.options.free();
    const known = new Map(lanes.map((lane) => [lane.laneNo, lane]));
    const picks = this.share.pick(lanes, free, random);
    const asked = picks.flatMap(({ laneNo, limit }) => {
      const lane = known.get(laneNo);
      return lane ? [{ laneNo, limit, leaseSeconds: served.leaseOf(lane), limited: lane.limited }] : [];
    });
    const since = processClock();
    const { jobs, heldBack } = await claimFromLanes(db, { workerId, lanes: asked, limit: free });
    this.share.charge(jobs.map((job) => ({ ...job, band: known.get(job.laneNo)?.band ?? 2 })));
    if (jobs.length > 0) onClaimed(jobs, since);
    if (jobs.length < free) this.dropEmpty(asked, jobs);
    this.park(heldBack);
    return jobs.length > 0;
  }

  private keepServed(lane: KnownLane, served: Served): boolean {
    if (served.serves(lane)) return true;
    this.directory.dropped(lane.laneNo);
    return false;
  }

  // A lane that gave less than it was asked for, with places left over, has no more just now.
  private dropEmpty(asked: readonly { laneNo: number; limit: number }[], jobs: readonly ClaimedJob[]): void {
    for (const { laneNo, limit } of asked) {
      if (jobs.filter((job) => job.laneNo === laneNo).length < limit) this.directory.dropped(laneNo);
    }
  }

  // A lane at its limit is asked again when a job under it ends here, with the next poll, or when its time has come.
  private park(heldBack: readonly HeldBack[]): void {
    for (const { laneNo } of heldBack) this.directory.parked(laneNo);
    const times = heldBack.flatMap(({ retryInMs }) => (retryInMs === null ? [] : [retryInMs]));
    if (times.length === 0 || this.stopped) return;
    clearTimeout(this.unparkTimer);
    this.unparkTimer = setTimeout(
      () => {
        this.directory.unpark();
        this.turn();
      },
      Math.min(POLL_MS, Math.max(SOONEST_RETRY_MS, Math.min(...times))),
    );
  }

  private async describe(laneNos: readonly number[]): Promise<void> {
    try {
      this.directory.found(await describeLanes(this.options.db, laneNos));
      this.turn();
    } catch {
      this.pollSoon();
    }
  }
}
