/** What the main thread and the lease thread tell each other. */
import type { Lease } from "@/lib/queue";

export interface HeldLease extends Lease {
  readonly leaseSeconds: number;
  /** From when the lease counts, by `processClock`: before the claim was sent, so never later than the database's own. */
  readonly since: number;
  /** Not renewed after this long, in milliseconds from now: the attempt is over by then or hopelessly stuck. */
  readonly renewForMs: number;
}

export type ToThread =
  | { readonly type: "hold"; readonly leases: readonly HeldLease[] }
  | { readonly type: "limit"; readonly lease: Lease; readonly renewForMs: number }
  | { readonly type: "drop"; readonly leases: readonly Lease[] }
  | { readonly type: "spawned"; readonly lease: Lease; readonly pid: number }
  | { readonly type: "here" }
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
