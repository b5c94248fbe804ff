import type { FeedSource, StreamEvent, Subscriber } from "./stream-hub";

const COALESCE_MS = 250;
const RETRY_MS = 2000;
// A wake-up is a hint and may be lost; this is how late a change may then be.
const SAFETY_MS = 10_000;
const LANES_MS = 2000;

/** Reads the changes of one tenant for all who watch it: the first at once, then at most every 250 ms. */
export class TenantFeed {
  private readonly subscribers = new Set<Subscriber>();
  private position: unknown;
  private lanes: ReadonlySet<number> = new Set();
  private lanesReadAt = Number.NEGATIVE_INFINITY;
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

  /** Returns how many are left. */
  remove(subscriber: Subscriber): number {
    this.subscribers.delete(subscriber);
    return this.subscribers.size;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Something changed in these lanes; null means anywhere. */
  wake(lanes: readonly number[] | null): void {
    if (lanes && !this.concerns(lanes)) return;
    this.dirty = true;
    if (!this.reading) this.schedule(Math.max(0, this.readAt + COALESCE_MS - performance.now()));
  }

  // A lane that is new since the lanes were read may be ours, so an unknown one counts while the list is old.
  private concerns(lanes: readonly number[]): boolean {
    return lanes.some((lane) => this.lanes.has(lane)) || performance.now() - this.lanesReadAt > LANES_MS;
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
      if (this.readAt - this.lanesReadAt > LANES_MS) {
        this.lanes = await this.source.lanes(this.tenantId);
        this.lanesReadAt = performance.now();
      }
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

  private send(event: StreamEvent): void {
    for (const subscriber of this.subscribers) subscriber(event);
  }
}
