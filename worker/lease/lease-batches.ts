import type { Lease } from "@/lib/queue/worker";
import type { HeldLease, LeaseBatch, LeaseIndex } from "./lease-protocol";

/** Age at which a batch is unpacked, long before the first renewal of a lease of usual length. */
const LOOK_AFTER_MS = 2000;
/** Shorter leases are watched from the beginning. */
const SHORT_LEASE_SECONDS = 12;
const NUMBERS_EACH = 3;

interface Kept {
  readonly batch: LeaseBatch;
  readonly gone: Set<number>;
}

interface Watching {
  hold(lease: HeldLease): void;
  limit(lease: Lease, renewForMs: number): void;
  drop(lease: Lease): void;
}

/** Packs leases for the lease thread. All of them come from one claim, so their ids have the same length. */
export function packLeases(no: number, leases: readonly HeldLease[], now: number): LeaseBatch {
  const numbers = new Float64Array(leases.length * NUMBERS_EACH);
  let jobIds = "";
  leases.forEach(({ jobId, leaseNo, leaseSeconds, renewForMs }, index) => {
    jobIds += jobId;
    numbers[index * NUMBERS_EACH] = leaseNo;
    numbers[index * NUMBERS_EACH + 1] = leaseSeconds;
    numbers[index * NUMBERS_EACH + 2] = renewForMs;
  });
  return { no, since: leases[0]?.since ?? now, packedAt: now, jobIds, numbers };
}

function leaseAt({ jobIds, numbers, since, packedAt }: LeaseBatch, index: number, now: number): HeldLease {
  const length = (jobIds.length * NUMBERS_EACH) / numbers.length;
  return {
    jobId: jobIds.slice(index * length, (index + 1) * length),
    leaseNo: numbers[index * NUMBERS_EACH] ?? 0,
    leaseSeconds: numbers[index * NUMBERS_EACH + 1] ?? 0,
    renewForMs: packedAt + (numbers[index * NUMBERS_EACH + 2] ?? 0) - now,
    since,
  };
}

/**
 * Batches of leases that are not watched yet. A lease dropped within seconds is never unpacked; the leases that live
 * longer are handed on one by one to be watched.
 */
export class LeaseBatches {
  private readonly packed = new Map<number, Kept>();
  /** Unpacked batches that still have leases. */
  private readonly open = new Map<number, LeaseBatch>();

  constructor(
    private readonly watching: Watching,
    private readonly now: () => number,
  ) {}

  hold(batch: LeaseBatch): void {
    this.packed.set(batch.no, { batch, gone: new Set() });
    let shortest = Number.POSITIVE_INFINITY;
    for (let at = 1; at < batch.numbers.length; at += NUMBERS_EACH) {
      shortest = Math.min(shortest, batch.numbers[at] ?? 0);
    }
    if (shortest < SHORT_LEASE_SECONDS) this.unpack(batch.no);
  }

  /** Unpacks old batches. Call it about once a second, before the renewal turn. */
  turn(): void {
    const before = this.now() - LOOK_AFTER_MS;
    for (const [no, { batch }] of this.packed) if (batch.since <= before) this.unpack(no);
  }

  limit([no, index]: LeaseIndex, renewForMs: number): void {
    this.unpack(no);
    const batch = this.open.get(no);
    if (batch) this.watching.limit(leaseAt(batch, index, this.now()), renewForMs);
  }

  dropBatch(no: number): void {
    if (this.packed.delete(no)) return;
    const batch = this.open.get(no);
    if (!batch) return;
    this.open.delete(no);
    const now = this.now();
    for (let index = 0; index < batch.numbers.length / NUMBERS_EACH; index += 1) {
      this.watching.drop(leaseAt(batch, index, now));
    }
  }

  drop([no, index]: LeaseIndex): void {
    const kept = this.packed.get(no);
    if (kept) kept.gone.add(index);
    const batch = this.open.get(no);
    if (batch) this.watching.drop(leaseAt(batch, index, this.now()));
  }

  /** Watches this lease from now on, because its attempt has a process. */
  watch([no]: LeaseIndex): void {
    this.unpack(no);
  }

  private unpack(no: number): void {
    const kept = this.packed.get(no);
    if (!kept) return;
    const { batch, gone } = kept;
    this.packed.delete(no);
    this.open.set(no, batch);
    const now = this.now();
    for (let index = 0; index < batch.numbers.length / NUMBERS_EACH; index += 1) {
      if (!gone.has(index)) this.watching.hold(leaseAt(batch, index, now));
    }
  }
}
