/** What an installation lets webhooks reach beyond public https addresses. */
export interface WebhookPolicy {
  /** Also http, for development. */
  readonly allowHttp: boolean;
  /** Places of this machine, `host:port`, that may be reached in spite of all other rules; port `*` is any. */
  readonly loopback: readonly string[];
  /** Name servers (`address:port`) instead of the machine's. */
  readonly nameServers?: readonly string[];
}

/** Milliseconds and bytes that a delivery may take. */
export interface WebhookLimits {
  readonly connectMs: number;
  readonly totalMs: number;
  readonly responseBytes: number;
}

export const WEBHOOK_DELIVERY_LIMITS: WebhookLimits = {
  connectMs: 3000,
  totalMs: 15_000,
  responseBytes: 64 * 1024,
};
