/**
 * Claims ready jobs for one worker. Start with `Claimer`.
 *
 * A wake-up names lanes with ready work; a poll once a second finds what wake-ups missed. `LaneDirectory` keeps the
 * lanes that may have work, `FairShare` divides the free slots among tenants, and `UsageSharing` keeps workers fair to
 * each other. Never claims more jobs than the worker has slots for, nor jobs that the worker does not support.
 */

import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import {
  type ClaimedJob,
  claimFromLanes,
  describeLanes,
  FairShare,
  type KnownLane,
  type LaneRequest,
  type LimitedLane,
  pollWork,
} from "@/lib/queue/worker";
import { processClock } from "../lease/lease-protocol";
import type { BegunMarks } from "../run/begun-marks";
import type { Capacity } from "../run/runner";
import { DeliverySlots } from "./delivery-slots";
import { LaneDirectory } from "./lane-directory";
import { SlotsByTenant } from "./slots-by-tenant";
import type { Supported } from "./supported";
import { UsageSharing } from "./usage-sharing";

/** Poll interval, and so the longest delay that a lost wake-up can cause. */
const POLL_MS = 1000;
const LANES_PER_POLL = 256;
const AFTER_ERROR_MS = 1000;
const SOONEST_RETRY_MS = 5;

export interface ClaimerOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly workerId: string;
  readonly random: () => number;
  readonly capacity: () => Capacity;
  /** How many deliveries of webhooks the worker may have; 0: not limited. */
  readonly mostDeliveries?: number;
  /** True if jobs of this definition may be claimed ahead. */
  readonly isQuick: (definitionId: string) => boolean;
  readonly served: () => Supported;
  /** Provides claim numbers, and receives the numbers of a claim that failed. */
  readonly numbers: Pick<BegunMarks, "numbers" | "unanswered">;
  /** Receives claimed jobs. Their leases count from `since` (by `processClock`). */
  readonly onClaimed: (jobs: readonly ClaimedJob[], since: number) => void;
  /** Receives the result of each poll. */
  readonly onPolled: (poll: Awaited<ReturnType<typeof pollWork>>) => Promise<void> | void;
}

const hasCapacity = ({ free, ahead }: Capacity): boolean => free + ahead > 0;

/**
 * Keeps a worker's free slots filled. Claims at once when a wake-up names a lane, polls at least once a second, and
 * never has two claims in flight. Runs from `start` to `stop`.
 */
export class Claimer {
  private readonly directory = new LaneDirectory();
  private readonly share = new FairShare();
  private readonly slotsByTenant = new SlotsByTenant();
  private readonly deliveries: DeliverySlots;
  private readonly sharing: UsageSharing;
  private timer: NodeJS.Timeout | undefined;
  private unparkTimer: NodeJS.Timeout | undefined;
  private afterLane = 0;
  private allWoken = false;
  /** How many times whole polls must still reach the last lane, so that every lane is read after the last `*`. */
  private rounds = 0;
  /** Counts jobs that ended here and may have freed a slot under a limit. */
  private endings = 0;
  /** When the database last answered a poll, by the monotonic clock. */
  polledAt = Number.NEGATIVE_INFINITY;
  private turning: Promise<void> | undefined;
  private again = false;
  private pollDue = true;
  private stopped = false;

  constructor(private readonly options: ClaimerOptions) {
    this.sharing = new UsageSharing(options.db, this.share);
    this.deliveries = new DeliverySlots(options.mostDeliveries ?? 0);
  }

  start(): void {
    this.schedulePoll(0);
  }

  /** Handles a wake-up: these lanes have ready work, or (`*`) some lane does. */
  wake(laneNos: readonly number[] | "*"): void {
    if (laneNos === "*") {
      this.allWoken = true;
      this.pollSoon();
      return;
    }
    const unknown = this.directory.woken(laneNos);
    if (unknown.length === 0) this.turn();
    else void this.describe(unknown);
  }

  /**
   * Call when a slot becomes free. `ended` names a job that has left the worker and the seconds for which it had a
   * slot.
   */
  freed(ended?: { readonly job: ClaimedJob; readonly seconds: number }): void {
    if (ended) this.ended(ended.job, ended.seconds);
    this.turn();
  }

  pollSoon(): void {
    this.pollDue = true;
    this.turn();
  }

  /** Stops claiming. Resolves when the claim in flight has been handed over. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.unparkTimer);
    await this.turning;
  }

  private ended(job: ClaimedJob, seconds: number): void {
    this.slotsByTenant.left(job.tenantId);
    this.deliveries.left(job);
    const lane = this.directory.lane(job.laneNo);
    if (!lane) return;
    this.share.chargeSeconds(lane, seconds);
    // The job may have freed a slot under a limit.
    if (!lane.limited) return;
    this.endings += 1;
    this.directory.unpark();
  }

  private schedulePoll(inMs: number): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.timer = setTimeout(() => this.pollSoon(), inMs);
  }

  private turn(): void {
    if (this.stopped || !(this.pollDue || hasCapacity(this.options.capacity()))) return;
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
    while (!this.stopped && (await this.claim())) {
      // Claim again: slots are left, and lanes may have more.
    }
  }

  private async poll(): Promise<void> {
    this.pollDue = false;
    if (this.allWoken) this.rounds = this.afterLane === 0 ? 1 : 2;
    this.allWoken = false;
    if (this.rounds > 0) this.directory.askForWholePoll();
    const { db, workerId } = this.options;
    const began = performance.now();
    const freshOnly = !this.directory.isWholePollDue(began);
    const polled = await pollWork(db, { workerId, afterLane: this.afterLane, maxLanes: LANES_PER_POLL, freshOnly });
    this.afterLane = polled.nextAfterLane;
    const now = performance.now();
    this.polledAt = now;
    this.directory.polled(polled.lanes, freshOnly ? { now } : { now, tookMs: now - began });
    if (!freshOnly && this.afterLane === 0) this.rounds = Math.max(0, this.rounds - 1);
    this.sharing.tick();
    await this.options.onPolled(polled);
    this.schedulePoll(POLL_MS);
  }

  /** @returns true if another claim may find jobs */
  private async claim(): Promise<boolean> {
    const { db, workerId, onClaimed, numbers } = this.options;
    const now = performance.now();
    const capacity = this.options.capacity();
    const most = capacity.free + capacity.ahead;
    const asked = most > 0 ? this.choose(capacity, now) : [];
    if (asked.length === 0) return false;
    const since = processClock();
    const { endings } = this;
    const firstNo = numbers.numbers(most);
    const request = { workerId, lanes: asked, limit: most, startAtOnce: capacity.free, firstNo };
    const { jobs, limitedLanes } = await claimFromLanes(db, request).catch((error: unknown) => {
      numbers.unanswered([firstNo, firstNo + most - 1]);
      throw error;
    });
    for (const { tenantId } of jobs) this.slotsByTenant.took(tenantId);
    this.deliveries.took(jobs, this.options.served());
    this.share.charge(jobs.flatMap(({ laneNo }) => this.directory.lane(laneNo) ?? []));
    if (jobs.length > 0) onClaimed(jobs, since);
    const lookAgain = this.directory.claimed(asked, { jobs, isFull: jobs.length >= most, now });
    this.park(limitedLanes);
    // A job that ended during the claim may have freed a slot that the claim did not see.
    const isFreedSince = endings !== this.endings;
    if (isFreedSince) this.directory.unpark();
    this.sharing.tick();
    return jobs.length > 0 || lookAgain || isFreedSince;
  }

  /** Picks the lanes to claim from, in order, each with its share. Only quick jobs are claimed ahead of free slots. */
  private choose({ free, ahead }: Capacity, now: number): LaneRequest[] {
    const served = this.options.served();
    const lanes = this.directory.lanes().filter((lane) => this.keepServed(lane, served));
    this.directory.sawTenants(lanes, now);
    const most = free + ahead;
    const open = this.deliveries.open(lanes, served);
    const grant = this.deliveries.granter(served);
    let slowLeft = free;
    const mostOf = (tenantId: string): number =>
      this.slotsByTenant.mostOf(tenantId, { free: most, hasOthers: this.directory.hasOthers(tenantId, now) });
    return this.share.pick(open, { free: most, mostOf }, this.options.random).flatMap(({ laneNo, limit }) => {
      const lane = this.directory.lane(laneNo);
      if (!lane) return [];
      const isQuick = !lane.limited && this.options.isQuick(lane.definitionId);
      const slots = grant(lane, isQuick ? limit : Math.min(limit, slowLeft));
      if (!isQuick) slowLeft -= slots;
      if (slots < 1) return [];
      const from = this.directory.fromOf(laneNo, now);
      const { limited } = lane;
      const request = { laneNo, limit: slots, leaseSeconds: served.leaseOf(lane), limited };
      return [from === undefined ? request : { ...request, from }];
    });
  }

  private keepServed(lane: KnownLane, served: Supported): boolean {
    if (served.supports(lane)) return true;
    this.directory.dropped(lane.laneNo);
    return false;
  }

  // A limited lane is claimed from again when a job under its limit ends here, at the next poll, or when its retry time
  // comes.
  private park(limitedLanes: readonly LimitedLane[]): void {
    for (const { laneNo } of limitedLanes) this.directory.parked(laneNo);
    const times = limitedLanes.flatMap(({ retryInMs }) => (retryInMs === null ? [] : [retryInMs]));
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
