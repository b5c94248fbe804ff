import type { FeedSource, StreamEvent, Subscriber } from "./feed-source";

const COALESCE_MS = 250;
const RETRY_MS = 2000;
// Poll interval, and so the longest delay of a change whose wake-up is lost.
const SAFETY_MS = 10_000;
const FOREIGN_LANES_KEPT = 10_000;

/** Reads the changes of one tenant for all its subscribers: the first at once, then at most every 250 ms. */
export class TenantFeed {
  private readonly subscribers = new Set<Subscriber>();
  private position: unknown;
  private lanes: ReadonlySet<number> | undefined;
  private readonly foreign = new Set<number>();
  private readonly unknown = new Set<number>();
  private timer: NodeJS.Timeout | undefined;
  private reading = false;
  private dirty = false;
  private stopped = false;
  private readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly tenantId: string,
    private readonly source: FeedSource,
  ) {
    this.schedule(0);
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
  }

  /** Returns how many subscribers are left. */
  remove(subscriber: Subscriber): number {
    this.subscribers.delete(subscriber);
    return this.subscribers.size;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Call when something changed in these lanes; null means in any lane. */
  wake(lanes: readonly number[] | null): void {
    if (lanes && !this.concerns(lanes)) return;
    this.dirty = true;
    if (!this.reading) this.schedule(Math.max(0, this.readAt + COALESCE_MS - performance.now()));
  }

  // A lane never changes its tenant, so each unknown lane is looked up once.
  private concerns(lanes: readonly number[]): boolean {
    const unknown = lanes.filter((lane) => !this.lanes?.has(lane) && !this.foreign.has(lane));
    for (const lane of unknown) this.unknown.add(lane);
    return unknown.length > 0 || lanes.some((lane) => this.lanes?.has(lane));
  }

  private schedule(inMs: number): void {
    clearTimeout(this.timer);
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.read(), inMs);
    this.timer.unref();
  }

  private async read(): Promise<void> {
    this.reading = true;
    this.dirty = false;
    this.readAt = performance.now();
    let nextInMs = SAFETY_MS;
    try {
      if (!this.lanes || this.unknown.size > 0) await this.readLanes();
      const { events, position } = await this.source.changes(this.tenantId, this.position);
      this.position = position;
      for (const event of events) this.send(event);
    } catch (error) {
      this.source.onError(error);
      nextInMs = RETRY_MS;
    }
    this.reading = false;
    this.schedule(this.dirty ? COALESCE_MS : nextInMs);
  }

  private async readLanes(): Promise<void> {
    const asked = [...this.unknown];
    this.lanes = await this.source.lanes(this.tenantId);
    if (this.foreign.size > FOREIGN_LANES_KEPT) this.foreign.clear();
    for (const lane of asked) {
      this.unknown.delete(lane);
      if (!this.lanes.has(lane)) this.foreign.add(lane);
    }
  }

  private send(event: StreamEvent): void {
    for (const subscriber of this.subscribers) subscriber(event);
  }
}
