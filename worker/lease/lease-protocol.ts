/** What the main thread and the lease thread tell each other. */
import type { Lease } from "@/lib/queue/worker";

export interface HeldLease extends Lease {
  readonly leaseSeconds: number;
  /** From when the lease counts, by `processClock`: before the claim was sent, so never later than the database's own. */
  readonly since: number;
  /** Not renewed after this long, in milliseconds from now: the attempt is over by then or hopelessly stuck. */
  readonly renewForMs: number;
}

/**
 * Leases that were given together. Packed, because most jobs are over long before anybody has to look at their leases:
 * then the whole batch is forgotten as it came.
 */
export interface LeaseBatch {
  readonly no: number;
  readonly since: number;
  /** When `renewForMs` begins to count, by `processClock`. */
  readonly heldAt: number;
  /** Ids of the same length, one after the other. */
  readonly jobIds: string;
  /** For each lease its number, its seconds and its `renewForMs`. */
  readonly numbers: Float64Array;
}

/** A lease by its batch and its place in it. */
export type LeasePlace = readonly [batch: number, place: number];

export type ToThread =
  | { readonly type: "hold"; readonly batch: LeaseBatch }
  | { readonly type: "limit"; readonly at: LeasePlace; readonly renewForMs: number }
  /** `batches` are dropped whole, `places` one by one. */
  | { readonly type: "drop"; readonly batches: readonly number[]; readonly places: readonly LeasePlace[] }
  | { readonly type: "spawned"; readonly at: LeasePlace; readonly lease: Lease; readonly pid: number }
  | { readonly type: "here" }
  /** Once a second: the main thread's loop turns. */
  | { readonly type: "heartbeat" }
  | { readonly type: "stop" };

export type FromThread =
  /** The leases are lost, and the process groups of their attempts were killed. */
  | { readonly type: "lost"; readonly leases: readonly Lease[] }
  | { readonly type: "cancel"; readonly leases: readonly Lease[] }
  /** Asks for `here`: a main thread that does not answer is blocked for ever. */
  | { readonly type: "are-you-there" };

export interface LeaseThreadData {
  readonly databaseUrl: string;
  readonly log: { readonly level: string; readonly format: "pretty" | "json" };
}

/** Milliseconds of a clock that never jumps and that all threads of a process share, as `performance.now()` is not. */
export const processClock = (): number => Number(process.hrtime.bigint() / 1_000_000n);

export const leaseKey = ({ jobId, leaseNo }: Lease): string => `${jobId}:${leaseNo}`;
