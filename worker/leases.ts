import { Worker } from "node:worker_threads";
import type { Logger } from "@/lib/observability/log";
import type { Lease } from "@/lib/queue";
import { packLeases } from "./lease-batches";
import {
  type FromThread,
  type HeldLease,
  type LeasePlace,
  type LeaseThreadData,
  leaseKey,
  processClock,
  type ToThread,
} from "./lease-protocol";

export type LeaseEvent = "lost" | "cancel";

interface LeasesOptions {
  readonly log: Logger;
  /** For the thread's own lines. */
  readonly logFormat: LeaseThreadData["log"]["format"];
  readonly onDied: () => void;
}

export interface WatchedLease extends HeldLease {
  readonly onEvent: (event: LeaseEvent) => void;
}

interface Batch {
  readonly no: number;
  /** Leases of it that are held yet. */
  left: number;
  /** Leases of it that were dropped, which the thread has not heard of. */
  untold: number[];
}

interface Entry {
  readonly batch: Batch;
  readonly place: number;
  readonly onEvent: WatchedLease["onEvent"];
}

const DROP_MS = 50;

/** The main thread's side of the lease thread. */
export class Leases {
  private readonly thread: Worker;
  private readonly exited: Promise<unknown>;
  private lastBatch = 0;
  private dropTimer: NodeJS.Timeout | undefined;
  private readonly entries = new Map<string, Entry>();
  /** Batches with drops that the thread has not heard of. */
  private readonly changed = new Set<Batch>();

  constructor(databaseUrl: string, { log, logFormat, onDied }: LeasesOptions) {
    const workerData: LeaseThreadData = { databaseUrl, log: { level: log.level, format: logFormat } };
    this.thread = new Worker(new URL("./lease-thread.mjs", import.meta.url), { workerData });
    this.exited = new Promise((resolve) => this.thread.once("exit", resolve));
    this.thread.on("message", (message: FromThread) => this.hear(message));
    this.thread.on("error", (error) => {
      log.fatal({ err: error }, "the lease thread failed");
      onDied();
    });
  }

  /**
   * Keeps leases that were given together alive until they are dropped; each one's `onEvent` hears when it is lost or its
   * job is to be canceled.
   */
  hold(held: readonly WatchedLease[]): void {
    if (held.length === 0) return;
    this.lastBatch += 1;
    const batch: Batch = { no: this.lastBatch, left: held.length, untold: [] };
    held.forEach((lease, place) => {
      this.entries.set(leaseKey(lease), { batch, place, onEvent: lease.onEvent });
    });
    this.send({ type: "hold", batch: packLeases(batch.no, held, processClock()) });
  }

  /** Ends the renewals of a lease after this time: its attempt is over by then, or hopelessly stuck. */
  limit(lease: Lease, renewForMs: number): void {
    const entry = this.entries.get(leaseKey(lease));
    if (entry) this.send({ type: "limit", at: placeOf(entry), renewForMs });
  }

  /** Drops go out together, a few milliseconds late: a lease that is renewed once more does no harm. */
  drop(lease: Lease): void {
    const key = leaseKey(lease);
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    const { batch, place } = entry;
    batch.left -= 1;
    batch.untold.push(place);
    this.changed.add(batch);
    this.dropTimer ??= setTimeout(() => this.sendDropped(), DROP_MS);
  }

  /** The group of this process is killed when the lease is lost, even if the main thread is blocked. */
  spawned({ jobId, leaseNo }: Lease, pid: number): void {
    const entry = this.entries.get(leaseKey({ jobId, leaseNo }));
    const at: LeasePlace = entry ? placeOf(entry) : [0, 0];
    this.send({ type: "spawned", at, lease: { jobId, leaseNo }, pid });
  }

  async close(): Promise<void> {
    this.sendDropped();
    this.send({ type: "stop" });
    await this.exited;
  }

  private sendDropped(): void {
    clearTimeout(this.dropTimer);
    this.dropTimer = undefined;
    if (this.changed.size === 0) return;
    const batches: number[] = [];
    const places: LeasePlace[] = [];
    for (const { no, left, untold } of this.changed) {
      if (left === 0) batches.push(no);
      else for (const place of untold) places.push([no, place]);
    }
    for (const batch of this.changed) batch.untold = [];
    this.changed.clear();
    this.send({ type: "drop", batches, places });
  }

  private send(message: ToThread): void {
    this.thread.postMessage(message);
  }

  private hear(message: FromThread): void {
    if (message.type === "are-you-there") this.send({ type: "here" });
    else for (const lease of message.leases) this.entries.get(leaseKey(lease))?.onEvent(message.type);
  }
}

const placeOf = ({ batch, place }: Entry): LeasePlace => [batch.no, place];
