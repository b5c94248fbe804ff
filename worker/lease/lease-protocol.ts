/** A lease as the main thread hands it to the lease thread. */
import type { Lease } from "@/lib/queue/worker";

export interface HeldLease extends Lease {
  readonly leaseSeconds: number;
  /**
   * When the lease begins, by `processClock`: before the claim was sent, so never later than the database's own time.
   */
  readonly since: number;
  /**
   * Milliseconds from now after which the lease is not renewed: by then the attempt has ended or is hopelessly stuck.
   */
  readonly renewForMs: number;
}

/**
 * Leases from one claim, packed: most jobs end long before their leases are due, so the whole batch is dropped unread.
 */
export interface LeaseBatch {
  readonly no: number;
  readonly since: number;
  /** When `renewForMs` begins to count, by `processClock`. */
  readonly packedAt: number;
  /** Ids of the same length, concatenated. */
  readonly jobIds: string;
  /** For each lease: its number, its seconds and its `renewForMs`. */
  readonly numbers: Float64Array;
}

/** A lease, identified by its batch and its index in the batch. */
export type LeaseIndex = readonly [batch: number, index: number];

export type ToThread =
  | { readonly type: "hold"; readonly batch: LeaseBatch }
  | { readonly type: "limit"; readonly at: LeaseIndex; readonly renewForMs: number }
  /** `batches` are dropped whole, `leases` one by one. */
  | { readonly type: "drop"; readonly batches: readonly number[]; readonly leases: readonly LeaseIndex[] }
  | { readonly type: "spawned"; readonly at: LeaseIndex; readonly lease: Lease; readonly pid: number }
  | { readonly type: "here" }
  /** Sent once a second: the main thread's event loop turns. */
  | { readonly type: "heartbeat" }
  | { readonly type: "stop" };

export type FromThread =
  /** Sent once: the thread is connected, or has tried to. */
  | { readonly type: "ready" }
  /** The leases are lost, and the process groups of their attempts were killed. */
  | { readonly type: "lost"; readonly leases: readonly Lease[] }
  | { readonly type: "cancel"; readonly leases: readonly Lease[] }
  /** Asks for `here`. A main thread that does not answer is blocked forever. */
  | { readonly type: "are-you-there" };

export interface LeaseThreadData {
  readonly databaseUrl: string;
  readonly log: { readonly level: string; readonly format: "pretty" | "json" };
}

/**
 * Returns the time in milliseconds by a clock that never jumps. All threads of a process share this clock, unlike
 * `performance.now()`.
 */
export const processClock = (): number => Number(process.hrtime.bigint() / 1_000_000n);
