import type { KnownLane } from "@/lib/queue";

const MOST_REMEMBERED = 50_000;

/**
 * The lanes that may have ready work, as wake-ups and polls say. It is a hint: a lane that turns out to be empty is
 * dropped, one that is missing is found by the next poll.
 */
export class LaneDirectory {
  private readonly active = new Map<number, KnownLane>();
  /** Lanes that have work which a limit holds back. */
  private readonly held = new Map<number, KnownLane>();
  /** What lane numbers mean, which never changes; weights and limits are as of the last look. */
  private readonly described = new Map<number, KnownLane>();

  /** Remembers what lanes are, and that they have work. */
  found(lanes: readonly KnownLane[]): void {
    if (this.described.size > MOST_REMEMBERED) this.described.clear();
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
  }

  /** Puts a lane aside until `unpark`, or until a wake-up or a poll names it. */
  parked(laneNo: number): void {
    const lane = this.described.get(laneNo);
    if (lane) this.held.set(laneNo, lane);
    this.active.delete(laneNo);
  }

  unpark(): void {
    for (const [laneNo, lane] of this.held) this.active.set(laneNo, lane);
    this.held.clear();
  }

  isLimited(laneNo: number): boolean {
    return this.described.get(laneNo)?.limited ?? false;
  }

  lanes(): KnownLane[] {
    return [...this.active.values()];
  }
}
