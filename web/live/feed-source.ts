/** One server-sent event, ready to be written. */
export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

export type Subscriber = (event: StreamEvent) => void;

/** What a feed needs to read of one tenant. */
export interface FeedSource {
  /** What changed since the position that the last call answered; the first call only answers a position. */
  changes(tenantId: string, position: unknown): Promise<{ events: readonly StreamEvent[]; position: unknown }>;
  /** The lanes whose wake-ups concern the tenant. */
  lanes(tenantId: string): Promise<ReadonlySet<number>>;
  onError(error: unknown): void;
}
