/** Which targets beyond public https addresses an installation allows. */
export interface WebhookPolicy {
  /** Allows http, for development. */
  readonly allowHttp: boolean;
  /** Exceptions on this machine, as `host:port`, that override all other rules; port `*` is any port. */
  readonly loopback: readonly string[];
  /** Name servers (`address:port`) instead of the machine's. */
  readonly nameServers?: readonly string[];
}

/** Limits of a delivery, in milliseconds and bytes. */
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
