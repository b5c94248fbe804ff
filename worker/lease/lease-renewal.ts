import type { Database } from "@/lib/db";
import { hasFailpoints } from "@/lib/env/test-build";
import { extendLeases, type Lease, leaseKey, warmUpRenewal } from "@/lib/queue/worker";
import type { FromThread, HeldLease } from "./lease-protocol";

/** Share of a lease's time after which it is renewed, so that two renewals may fail. */
const RENEW_AFTER = 1 / 3;
/** Share of a lease's time that is left when its work is stopped because the database does not answer. */
const MARGIN = 1 / 6;
/** Longer than the time between two turns, because otherwise the last turn could come after the lease expired. */
const LEAST_MARGIN_MS = 1200;

interface Tracked extends HeldLease {
  /** By the monotonic clock, counted from before the statement was sent: never later than the database's own expiry. */
  expiresAt: number;
  renewAt: number;
  renewUntil: number;
  readonly pids: Set<number>;
}

/**
 * Renews all leases of a process, and stops the work of lost ones: lost according to the database, or because the
 * database did not answer until the lease had nearly expired. Knows no threads, so tests can use their own clock.
 */
export class LeaseRenewal {
  private readonly leases = new Map<string, Tracked>();
  private asking = false;

  constructor(
    private readonly db: Pick<Database, "run" | "orm" | "stats">,
    private readonly now: () => number,
    private readonly post: (message: FromThread) => void,
    private readonly killGroup: (pid: number) => void,
  ) {}

  hold(lease: HeldLease): void {
    this.leases.set(leaseKey(lease), {
      ...lease,
      expiresAt: lease.since + lease.leaseSeconds * 1000,
      renewAt: lease.since + lease.leaseSeconds * 1000 * RENEW_AFTER,
      renewUntil: this.now() + lease.renewForMs,
      pids: new Set(),
    });
  }

  /** Limits how long from now a lease may be renewed, once the attempt's own time limit is known. */
  limit(lease: Lease, renewForMs: number): void {
    const tracked = this.leases.get(leaseKey(lease));
    if (tracked) tracked.renewUntil = this.now() + renewForMs;
  }

  drop(lease: Lease): void {
    this.leases.delete(leaseKey(lease));
  }

  spawned(lease: Lease, pid: number): void {
    const tracked = this.leases.get(leaseKey(lease));
    // The lease was lost while its process was starting: the process must not live on.
    if (tracked) tracked.pids.add(pid);
    else this.killGroup(pid);
  }

  /**
   * Looks at all leases. Call it about once a second, even while the last turn still waits for the database: a silent
   * database must not keep the work of lost leases alive. Without `renews`, leases are left to expire. While no lease
   * is due, a turn opens the connection if there is none.
   */
  async turn(renews = true): Promise<void> {
    this.giveUpOverdue();
    if (this.asking || !renews) return;
    this.asking = true;
    try {
      await this.renewDue();
    } finally {
      this.asking = false;
    }
  }

  private async renewDue(): Promise<void> {
    const sentAt = this.now();
    const due = [...this.leases.values()].filter(({ renewAt, renewUntil }) => renewAt <= sentAt && sentAt < renewUntil);
    if (due.length === 0) return this.stayConnected();
    const answer = await extendLeases(this.db, due).catch(() => null);
    if (answer === null) return this.giveUpOverdue();
    const renewed = new Set(answer.renewed.map(({ jobId }) => jobId));
    for (const tracked of due) if (renewed.has(tracked.jobId)) prolong(tracked, sentAt);
    const cancel = new Set(answer.cancelRequested);
    const canceled = due.filter(({ jobId }) => cancel.has(jobId));
    if (canceled.length > 0) this.post({ type: "cancel", leases: canceled.map(plain) });
    const lost = new Set(answer.lost);
    this.lose(due.filter(({ jobId }) => lost.has(jobId)));
  }

  /** Connects before a lease is due, because a server without a free connection would refuse it then. */
  private async stayConnected(): Promise<void> {
    // Failpoints are meant for the statements of jobs.
    if (hasFailpoints) return;
    if (this.db.stats().total === 0) await warmUpRenewal(this.db).catch(() => undefined);
  }

  private giveUpOverdue(): void {
    const now = this.now();
    this.lose([...this.leases.values()].filter((one) => now >= one.expiresAt - marginMs(one)));
  }

  private lose(lost: readonly Tracked[]): void {
    const still = lost.filter((one) => this.leases.delete(leaseKey(one)));
    // Sent before the kill: otherwise the end of a killed process could be taken for a failure of its own.
    if (still.length > 0) this.post({ type: "lost", leases: still.map(plain) });
    for (const { pids } of still) for (const pid of pids) this.killGroup(pid);
  }
}

function prolong(tracked: Tracked, since: number): void {
  tracked.expiresAt = since + tracked.leaseSeconds * 1000;
  tracked.renewAt = since + tracked.leaseSeconds * 1000 * RENEW_AFTER;
}

const marginMs = ({ leaseSeconds }: HeldLease): number => Math.max(LEAST_MARGIN_MS, leaseSeconds * 1000 * MARGIN);

const plain = ({ jobId, leaseNo }: Lease): Lease => ({ jobId, leaseNo });
