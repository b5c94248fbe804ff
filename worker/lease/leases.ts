/**
 * Keeps the leases of running jobs alive. Start with `Leases`, the main thread's side.
 *
 * A separate thread (`lease-thread.entry.ts`) renews leases, so a handler may block the main thread for minutes and
 * loses no lease. `LeaseRenewal` decides when a lease is renewed or lost. When a lease is lost, or about to expire
 * because the database does not answer, its attempt is aborted and its processes are killed. A main thread that stays
 * blocked after a lost lease ends with the whole process (`MainWatch`).
 */

import { Worker } from "node:worker_threads";
import type { Logger } from "@/lib/observability/log";
import type { Lease } from "@/lib/queue/worker";
import { packLeases } from "./lease-batches";
import {
  type FromThread,
  type HeldLease,
  type LeaseIndex,
  type LeaseThreadData,
  processClock,
  type ToThread,
} from "./lease-protocol";

export type LeaseEvent = "lost" | "cancel";

interface LeasesOptions {
  readonly log: Logger;
  /** Format of the lease thread's own log lines. */
  readonly logFormat: LeaseThreadData["log"]["format"];
  readonly onDied: () => void;
}

/** A lease that knows where `Leases` keeps it. */
export interface WatchedLease extends HeldLease {
  kept?: KeptLease | undefined;
}

export interface KeptLease {
  readonly batch: Batch;
  readonly index: number;
}

interface Batch {
  readonly no: number;
  /** The leases by index; undefined once dropped. */
  readonly leases: (WatchedLease | undefined)[];
  readonly onEvent: (lease: WatchedLease, event: LeaseEvent) => void;
  /** How many leases are left. */
  left: number;
  /** Indexes of dropped leases that were not sent to the thread yet. */
  unsent: number[];
}

const DROP_MS = 50;
const HEARTBEAT_MS = 1000;

/** The main thread's side of the lease thread. */
export class Leases {
  /**
   * Resolves when the thread can renew leases: it is connected, or has tried to. Claim nothing before, because on a busy
   * machine a short lease could expire while the thread is still starting.
   */
  readonly ready: Promise<void>;
  private onReady: () => void = () => undefined;
  private readonly thread: Worker;
  private readonly exited: Promise<unknown>;
  private lastBatch = 0;
  private dropTimer: NodeJS.Timeout | undefined;
  private readonly heartbeat: NodeJS.Timeout;
  /** Batches that still have leases. */
  private readonly batches = new Set<Batch>();
  /** Batches with drops that were not sent to the thread yet. */
  private readonly changed = new Set<Batch>();

  constructor(databaseUrl: string, { log, logFormat, onDied }: LeasesOptions) {
    const workerData: LeaseThreadData = { databaseUrl, log: { level: log.level, format: logFormat } };
    this.thread = new Worker(new URL("./lease-thread.mjs", import.meta.url), { workerData });
    this.exited = new Promise((resolve) => this.thread.once("exit", resolve));
    this.ready = new Promise((resolve) => {
      this.onReady = resolve;
    });
    this.thread.on("message", (message: FromThread) => this.hear(message));
    this.thread.on("error", (error) => {
      log.fatal({ err: error }, "the lease thread failed");
      onDied();
    });
    this.heartbeat = setInterval(() => this.send({ type: "heartbeat" }), HEARTBEAT_MS);
  }

  /**
   * Keeps the leases of one claim alive until they are dropped. Calls `onEvent` when a lease is lost or its job is
   * canceled.
   */
  hold<L extends WatchedLease>(leases: readonly L[], onEvent: (lease: L, event: LeaseEvent) => void): void {
    if (leases.length === 0) return;
    this.lastBatch += 1;
    const batch: Batch = {
      no: this.lastBatch,
      leases: [...leases],
      onEvent: onEvent as Batch["onEvent"],
      left: leases.length,
      unsent: [],
    };
    leases.forEach((lease, index) => {
      lease.kept = { batch, index };
    });
    this.batches.add(batch);
    this.send({ type: "hold", batch: packLeases(batch.no, leases, processClock()) });
  }

  /** Ends the renewals of a lease after this time: by then its attempt has ended or is hopelessly stuck. */
  limit({ kept }: WatchedLease, renewForMs: number): void {
    if (kept) this.send({ type: "limit", at: indexOf(kept), renewForMs });
  }

  /** Stops renewing a lease. Drops are sent in batches, some milliseconds later; one more renewal does no harm. */
  drop(lease: WatchedLease): void {
    const { kept } = lease;
    if (!kept) return;
    lease.kept = undefined;
    const { batch, index } = kept;
    batch.leases[index] = undefined;
    batch.left -= 1;
    batch.unsent.push(index);
    if (batch.left === 0) this.batches.delete(batch);
    this.changed.add(batch);
    this.dropTimer ??= setTimeout(() => this.sendDropped(), DROP_MS);
  }

  /**
   * Registers a process group: the lease thread kills it when the lease is lost, even if the main thread is blocked.
   */
  spawned({ jobId, leaseNo, kept }: WatchedLease, pid: number): void {
    const at: LeaseIndex = kept ? indexOf(kept) : [0, 0];
    this.send({ type: "spawned", at, lease: { jobId, leaseNo }, pid });
  }

  async close(): Promise<void> {
    clearInterval(this.heartbeat);
    this.sendDropped();
    this.send({ type: "stop" });
    await this.exited;
  }

  private sendDropped(): void {
    clearTimeout(this.dropTimer);
    this.dropTimer = undefined;
    if (this.changed.size === 0) return;
    const batches: number[] = [];
    const leases: LeaseIndex[] = [];
    for (const { no, left, unsent } of this.changed) {
      if (left === 0) batches.push(no);
      else for (const index of unsent) leases.push([no, index]);
    }
    for (const batch of this.changed) batch.unsent = [];
    this.changed.clear();
    this.send({ type: "drop", batches, leases });
  }

  private send(message: ToThread): void {
    this.thread.postMessage(message);
  }

  private hear(message: FromThread): void {
    if (message.type === "ready") this.onReady();
    else if (message.type === "are-you-there") this.send({ type: "here" });
    else for (const lease of message.leases) this.publish(lease, message.type);
  }

  // Events are so rare that a scan is cheaper than an index of all leases.
  private publish({ jobId, leaseNo }: Lease, event: LeaseEvent): void {
    for (const { leases, onEvent } of this.batches) {
      const lease = leases.find((one) => one?.jobId === jobId && one.leaseNo === leaseNo);
      if (lease) onEvent(lease, event);
    }
  }
}

const indexOf = ({ batch, index }: KeptLease): LeaseIndex => [batch.no, index];
