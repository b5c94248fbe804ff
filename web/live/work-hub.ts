/** A lane, as a waiting claim filters it. */
export interface WaitedLane {
  readonly laneNo: number;
  readonly tenantId: string;
  readonly definitionKey: string;
  readonly queue: string;
}

export interface Waiter {
  wants(lane: WaitedLane): boolean;
  /** Called when there may be work, or a job to stop. */
  wake(reason: "work" | "cancel"): void;
}

const MOST_REMEMBERED = 50_000;

/**
 * Wakes the claims that wait for work of remote definitions, and only for lanes that they want. A lane's meaning never
 * changes, so each lane is looked up once.
 */
export class WorkHub {
  private readonly waiters = new Set<Waiter>();
  /** Lane by number; null if the lane is not one of a remote definition. */
  private readonly known = new Map<number, WaitedLane | null>();
  private unknown = new Set<number>();
  private asking = false;

  constructor(
    private readonly describe: (laneNos: readonly number[]) => Promise<readonly WaitedLane[]>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Wakes `waiter` until the returned function is called. */
  add(waiter: Waiter): () => void {
    this.waiters.add(waiter);
    return () => void this.waiters.delete(waiter);
  }

  /** Handles a wake-up for workers: lane numbers, or `*`. */
  work(payload: string): void {
    if (this.waiters.size === 0) return;
    if (payload === "*") {
      for (const waiter of this.waiters) waiter.wake("work");
      return;
    }
    for (const laneNo of payload.split(",").map(Number)) {
      const lane = this.known.get(laneNo);
      if (lane) this.wakeWaiters(lane);
      else if (lane === undefined) this.unknown.add(laneNo);
    }
    if (this.unknown.size > 0 && !this.asking) void this.ask();
  }

  cancel(): void {
    for (const waiter of this.waiters) waiter.wake("cancel");
  }

  private async ask(): Promise<void> {
    this.asking = true;
    while (this.unknown.size > 0) {
      const asked = [...this.unknown];
      this.unknown = new Set();
      try {
        this.learn(asked, await this.describe(asked));
      } catch (error) {
        this.onError(error);
        for (const waiter of this.waiters) waiter.wake("work");
      }
    }
    this.asking = false;
  }

  private learn(asked: readonly number[], found: readonly WaitedLane[]): void {
    if (this.known.size > MOST_REMEMBERED) this.known.clear();
    const lanes = new Map(found.map((lane) => [lane.laneNo, lane]));
    for (const laneNo of asked) this.known.set(laneNo, lanes.get(laneNo) ?? null);
    for (const lane of found) this.wakeWaiters(lane);
  }

  private wakeWaiters(lane: WaitedLane): void {
    for (const waiter of this.waiters) if (waiter.wants(lane)) waiter.wake("work");
  }
}
