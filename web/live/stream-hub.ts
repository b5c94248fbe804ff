import type { FeedSource, Subscriber } from "./feed-source";
import { TenantFeed } from "./tenant-feed";

interface Connection {
  close(): Promise<void>;
}

/** Opens the one listening connection. `onWake` gets the payload of a wake-up, and `*` after each connect. */
export type OpenConnection = (onWake: (payload: string) => void) => Connection;

const LINGER_MS = 30_000;

/**
 * Feeds all streams of a process from one LISTEN connection. Each watched tenant costs at most one query every 250 ms
 * when something changed, however many tabs are open. Nothing runs without subscribers.
 */
export class StreamHub {
  private readonly feeds = new Map<string, TenantFeed>();
  private connection: Connection | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: FeedSource,
    private readonly open: OpenConnection,
  ) {}

  /** Sends a tenant's events to `subscriber` until the returned function is called. */
  subscribe(tenantId: string, subscriber: Subscriber): () => void {
    clearTimeout(this.idle);
    this.connection ??= this.open((payload) => this.wake(payload));
    const feed = this.feeds.get(tenantId) ?? new TenantFeed(tenantId, this.source);
    this.feeds.set(tenantId, feed);
    feed.add(subscriber);
    return () => this.leave(tenantId, feed, subscriber);
  }

  async close(): Promise<void> {
    clearTimeout(this.idle);
    for (const feed of this.feeds.values()) feed.stop();
    this.feeds.clear();
    await this.connection?.close();
    this.connection = undefined;
  }

  private wake(payload: string): void {
    const lanes = payload === "*" ? null : payload.split(",").map(Number);
    for (const feed of this.feeds.values()) feed.wake(lanes);
  }

  private leave(tenantId: string, feed: TenantFeed, subscriber: Subscriber): void {
    if (feed.remove(subscriber) > 0) return;
    feed.stop();
    if (this.feeds.get(tenantId) === feed) this.feeds.delete(tenantId);
    if (this.feeds.size > 0) return;
    // The connection outlives a change from one page to the next.
    this.idle = setTimeout(() => {
      const connection = this.connection;
      this.connection = undefined;
      void connection?.close();
    }, LINGER_MS);
    this.idle.unref();
  }
}
