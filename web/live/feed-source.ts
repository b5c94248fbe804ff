/** One server-sent event, ready to be written. */
export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

export type Subscriber = (event: StreamEvent) => void;

/** Where a feed reads the changes of one tenant. */
export interface FeedSource {
  /** Returns the changes since the position of the last call. The first call returns a position and no changed jobs. */
  changes(tenantId: string, position: unknown): Promise<{ events: readonly StreamEvent[]; position: unknown }>;
  /** Returns the lanes whose wake-ups concern the tenant. */
  lanes(tenantId: string): Promise<ReadonlySet<number>>;
  onError(error: unknown): void;
}
