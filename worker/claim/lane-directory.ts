import { type KnownLane, type PolledLane, SORT_KEY_SLACK, WholeLooks } from "@/lib/queue/worker";

const MOST_REMEMBERED = 50_000;
/** How long a lane is read from where it was left, before it is read from its beginning again. */
const WHOLE_AFTER_MS = 1000;
/** How long a tenant that had work counts as one of the others. */
const TENANT_FOR_MS = 10 * 60_000;

interface Mark {
  readonly from: number;
  readonly wholeAt: number;
  /** A job before `from` that the last poll saw: the next read begins there. */
  readonly low?: number;
}

/**
 * The lanes that may have ready work, as wake-ups and polls say. It is a hint: a lane that turns out to be empty is
 * dropped, one that is missing is found by the next poll. Times are those of the process's monotonic clock, in ms.
 */
export class LaneDirectory {
  private readonly active = new Map<number, KnownLane>();
  /** Lanes that have work which a limit holds back. */
  private readonly held = new Map<number, KnownLane>();
  /** What lane numbers mean, which never changes; weights and limits are as of the last look. */
  private readonly described = new Map<number, KnownLane>();
  private readonly marks = new Map<number, Mark>();
  /** The tenants that had work last: the latest, and the latest of all others. */
  private latest: readonly { readonly tenantId: string; readonly at: number }[] = [];

  private readonly wholePolls = new WholeLooks();

  /**
   * True while whole polls are costly: dead index entries that an old snapshot keeps are then read over by whole polls
   * alone, and lanes are read from their marks only.
   */
  get isCostly(): boolean {
    return this.wholePolls.isCostly;
  }

  /** Whether the next poll has to look at all lanes, not only at those of new jobs. */
  isWholePollDue(now: number): boolean {
    return this.wholePolls.isDue(now);
  }

  /** Lets a whole poll come within a second or so, also while they are costly. */
  askForWholePoll(): void {
    this.wholePolls.ask();
  }

  /** Learns from a poll: which lanes have work, and from which sort key on. `tookMs` is how long a whole one took. */
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

  /** Remembers what lanes are, and that they have work. */
  found(lanes: readonly KnownLane[]): void {
    if (this.described.size > MOST_REMEMBERED) this.described.clear();
    if (this.marks.size > MOST_REMEMBERED) this.marks.clear();
    for (const lane of lanes) {
      this.described.set(lane.laneNo, lane);
      this.active.set(lane.laneNo, lane);
    }
  }

  /** Marks the lanes that a wake-up names; returns those whose meaning has to be looked up first. */
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

  /** Puts a lane aside until `unpark`, or until a wake-up or a poll names it. */
  parked(laneNo: number): void {
    const lane = this.described.get(laneNo);
    if (lane) this.held.set(laneNo, lane);
    this.dropped(laneNo);
  }

  unpark(): void {
    for (const [laneNo, lane] of this.held) this.active.set(laneNo, lane);
    this.held.clear();
  }

  lane(laneNo: number): KnownLane | undefined {
    return this.described.get(laneNo);
  }

  lanes(): KnownLane[] {
    return [...this.active.values()];
  }

  /** Notes whose lanes, of those that this worker serves, have work. Two tenants are enough to know. */
  sawTenants(lanes: readonly KnownLane[], now: number): void {
    const first = lanes[0]?.tenantId;
    const second = lanes.find(({ tenantId }) => tenantId !== first)?.tenantId;
    for (const tenantId of [second, first]) {
      if (tenantId === undefined) continue;
      this.latest = [{ tenantId, at: now }, ...this.latest.filter((seen) => seen.tenantId !== tenantId)].slice(0, 2);
    }
  }

  /** Whether another tenant than this one had work for this worker in the last ten minutes. */
  hasOthers(tenantId: string, now: number): boolean {
    return this.latest.some((seen) => seen.tenantId !== tenantId && now - seen.at < TENANT_FOR_MS);
  }

  /**
   * Where to begin to read a lane: at the last sort key that was claimed from it, so that index entries of jobs that are
   * gone, which pile up there while somebody holds an old snapshot, are not read again and again. Once a second it is
   * undefined, the beginning: jobs that came back, or came in before others, are seen then. While that is costly, polls
   * see such jobs instead.
   */
  fromOf(laneNo: number, now: number): number | undefined {
    const mark = this.marks.get(laneNo);
    if (mark && this.isCostly) return (mark.low ?? mark.from) - SORT_KEY_SLACK;
    return mark && now - mark.wholeAt < WHOLE_AFTER_MS ? mark.from : undefined;
  }

  /** A lane gave all that it was asked for, up to this sort key; `whole`: it was read from its beginning. */
  readUpTo(laneNo: number, { sortKey, whole, now }: { sortKey: number; whole: boolean; now: number }): void {
    const wholeAt = whole ? now : (this.marks.get(laneNo)?.wholeAt ?? now);
    this.marks.set(laneNo, { from: sortKey, wholeAt });
  }

  /** While whole reads are costly: a lane gave less than it was asked for, up to this sort key, so it has no more. */
  readDry(laneNo: number, sortKey: number | undefined): void {
    const mark = this.marks.get(laneNo);
    const from = Math.max(mark?.from ?? Number.NEGATIVE_INFINITY, sortKey ?? Number.NEGATIVE_INFINITY);
    this.active.delete(laneNo);
    if (Number.isFinite(from)) this.marks.set(laneNo, { from, wholeAt: mark?.wholeAt ?? Number.NEGATIVE_INFINITY });
  }

  readFromBeginning(laneNo: number): void {
    this.marks.delete(laneNo);
  }
}
