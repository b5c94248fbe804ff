import {
  type ClaimedJob,
  type KnownLane,
  type LaneRequest,
  type PolledLane,
  SORT_KEY_SLACK,
  WholeLooks,
} from "@/lib/queue/worker";

const MOST_REMEMBERED = 50_000;
/** A lane is read from its mark for this long, then once from its beginning. */
const WHOLE_AFTER_MS = 1000;
/** A tenant counts as active for this long after it had work. */
const TENANT_FOR_MS = 10 * 60_000;

interface Mark {
  readonly from: number;
  readonly wholeAt: number;
  /** Sort key of a job before `from` that the last poll saw; the next read begins there. */
  readonly low?: number;
}

/**
 * The lanes that may have ready work, learned from wake-ups and polls. The directory is a hint: a lane that turns out
 * to be empty is dropped, and a missing lane is found by the next poll. Times are in ms, by the process's monotonic
 * clock.
 */
export class LaneDirectory {
  private readonly active = new Map<number, KnownLane>();
  /** Lanes with work that a limit blocks. */
  private readonly limited = new Map<number, KnownLane>();
  /** Lane by number. A lane's meaning never changes; its weight and limits are as of the last read. */
  private readonly described = new Map<number, KnownLane>();
  private readonly marks = new Map<number, Mark>();
  /** The two tenants that most recently had work, the latest first. */
  private latest: readonly { readonly tenantId: string; readonly at: number }[] = [];

  private readonly wholePolls = new WholeLooks();

  /**
   * True while whole polls are costly, because an old snapshot keeps dead index entries. Only whole polls then read
   * over those entries, and lanes are read from their marks only.
   */
  get isCostly(): boolean {
    return this.wholePolls.isCostly;
  }

  /** True if the next poll has to read all lanes, not only the lanes of new jobs. */
  isWholePollDue(now: number): boolean {
    return this.wholePolls.isDue(now);
  }

  /** Makes a whole poll due within about a second, even while whole polls are costly. */
  askForWholePoll(): void {
    this.wholePolls.ask();
  }

  /** Records a poll: the lanes with work, and the first sort key of each. `tookMs` is the duration of a whole poll. */
  polled(lanes: readonly PolledLane[], { now, tookMs }: { readonly now: number; readonly tookMs?: number }): void {
    if (tookMs !== undefined) this.wholePolls.took(tookMs, now);
    this.found(lanes);
    if (!this.isCostly) return;
    for (const { laneNo, head } of lanes) {
      if (head === undefined) continue;
      const mark = this.marks.get(laneNo);
      if (tookMs !== undefined || !mark) this.marks.set(laneNo, { from: head, wholeAt: now });
      else if (head < mark.from) this.marks.set(laneNo, { ...mark, low: head });
    }
  }

  /** Records these lanes and marks them as having work. */
  found(lanes: readonly KnownLane[]): void {
    if (this.described.size > MOST_REMEMBERED) this.described.clear();
    if (this.marks.size > MOST_REMEMBERED) this.marks.clear();
    for (const lane of lanes) {
      this.described.set(lane.laneNo, lane);
      this.active.set(lane.laneNo, lane);
    }
  }

  /** Marks the lanes that a wake-up names as having work. Returns the lanes that have to be described first. */
  woken(laneNos: readonly number[]): number[] {
    return laneNos.filter((laneNo) => {
      const lane = this.described.get(laneNo);
      if (lane) this.active.set(laneNo, lane);
      return lane === undefined;
    });
  }

  dropped(laneNo: number): void {
    this.active.delete(laneNo);
    if (!this.isCostly) this.marks.delete(laneNo);
  }

  /** Sets a lane aside until `unpark`, or until a wake-up or a poll names the lane. */
  parked(laneNo: number): void {
    const lane = this.described.get(laneNo);
    if (lane) this.limited.set(laneNo, lane);
    this.dropped(laneNo);
  }

  unpark(): void {
    for (const [laneNo, lane] of this.limited) this.active.set(laneNo, lane);
    this.limited.clear();
  }

  lane(laneNo: number): KnownLane | undefined {
    return this.described.get(laneNo);
  }

  lanes(): KnownLane[] {
    return [...this.active.values()];
  }

  /** Records which tenants have work that this worker supports. Two tenants are enough for `hasOthers`. */
  sawTenants(lanes: readonly KnownLane[], now: number): void {
    const first = lanes[0]?.tenantId;
    const second = lanes.find(({ tenantId }) => tenantId !== first)?.tenantId;
    for (const tenantId of [second, first]) {
      if (tenantId === undefined) continue;
      this.latest = [{ tenantId, at: now }, ...this.latest.filter((seen) => seen.tenantId !== tenantId)].slice(0, 2);
    }
  }

  /** True if a tenant other than this one had work for this worker in the last ten minutes. */
  hasOthers(tenantId: string, now: number): boolean {
    return this.latest.some((seen) => seen.tenantId !== tenantId && now - seen.at < TENANT_FOR_MS);
  }

  /**
   * Returns the sort key at which to begin reading a lane, or undefined for the beginning.
   *
   * Reads begin at the last claimed sort key, because dead index entries of earlier jobs pile up there while a
   * transaction holds an old snapshot. Once a second a lane is read from its beginning, to find jobs that came back or
   * sort before the mark. While that is costly, polls find such jobs instead.
   */
  fromOf(laneNo: number, now: number): number | undefined {
    const mark = this.marks.get(laneNo);
    if (mark && this.isCostly) return (mark.low ?? mark.from) - SORT_KEY_SLACK;
    return mark && now - mark.wholeAt < WHOLE_AFTER_MS ? mark.from : undefined;
  }

  /**
   * Records that a lane returned all jobs asked for, up to this sort key. `whole` means it was read from its beginning.
   */
  readUpTo(laneNo: number, { sortKey, whole, now }: { sortKey: number; whole: boolean; now: number }): void {
    const wholeAt = whole ? now : (this.marks.get(laneNo)?.wholeAt ?? now);
    this.marks.set(laneNo, { from: sortKey, wholeAt });
  }

  /**
   * Records, while whole polls are costly, that a lane returned fewer jobs than asked for, the last with this sort key,
   * and so has no more.
   */
  readDry(laneNo: number, sortKey: number | undefined): void {
    const mark = this.marks.get(laneNo);
    const from = Math.max(mark?.from ?? Number.NEGATIVE_INFINITY, sortKey ?? Number.NEGATIVE_INFINITY);
    this.active.delete(laneNo);
    if (Number.isFinite(from)) this.marks.set(laneNo, { from, wholeAt: mark?.wholeAt ?? Number.NEGATIVE_INFINITY });
  }

  readFromBeginning(laneNo: number): void {
    this.marks.delete(laneNo);
  }

  /**
   * Records a claim: the jobs that each lane returned. A lane that returned all jobs asked for is read on
   * from there next time. A lane that returned fewer, with slots left over, is empty if it was read from its beginning.
   * @returns true if a lane has to be read again from its beginning
   */
  claimed(
    asked: readonly LaneRequest[],
    { jobs, isFull, now }: { readonly jobs: readonly ClaimedJob[]; readonly isFull: boolean; readonly now: number },
  ): boolean {
    const given = new Map<number, { n: number; last: number }>();
    for (const { laneNo, sortKey } of jobs) {
      const { n, last } = given.get(laneNo) ?? { n: 0, last: sortKey };
      given.set(laneNo, { n: n + 1, last: Math.max(last, sortKey) });
    }
    let lookAgain = false;
    for (const { laneNo, limit, from } of asked) {
      const got = given.get(laneNo);
      const whole = from === undefined;
      const gaveAll = got !== undefined && got.n >= limit;
      if (this.isCostly && !gaveAll) {
        if (!isFull) this.readDry(laneNo, got?.last);
        continue;
      }
      if (got && gaveAll) this.readUpTo(laneNo, { sortKey: got.last, whole, now });
      else if (!whole) this.readFromBeginning(laneNo);
      else if (!isFull) this.dropped(laneNo);
      lookAgain ||= !whole && !isFull && (got?.n ?? 0) < limit;
    }
    return lookAgain;
  }
}
