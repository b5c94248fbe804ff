import { Worker } from "node:worker_threads";
import type { Logger } from "@/lib/observability/log";
import type { Lease } from "@/lib/queue/worker";
import { packLeases } from "./lease-batches";
import {
  type FromThread,
  type HeldLease,
  type LeasePlace,
  type LeaseThreadData,
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

/** A lease, which remembers where it is kept here. */
export interface WatchedLease extends HeldLease {
  kept?: KeptLease | undefined;
}

export interface KeptLease {
  readonly batch: Batch;
  readonly place: number;
}

interface Batch {
  readonly no: number;
  /** Those of it that are held yet, by their places. */
  readonly leases: (WatchedLease | undefined)[];
  readonly onEvent: (lease: WatchedLease, event: LeaseEvent) => void;
  /** How many those are. */
  left: number;
  /** Leases of it that were dropped, which the thread has not heard of. */
  untold: number[];
}

const DROP_MS = 50;
const HEARTBEAT_MS = 1000;

/** The main thread's side of the lease thread. */
export class Leases {
  private readonly thread: Worker;
  private readonly exited: Promise<unknown>;
  private lastBatch = 0;
  private dropTimer: NodeJS.Timeout | undefined;
  private readonly heartbeat: NodeJS.Timeout;
  /** Batches with leases that are held yet. */
  private readonly batches = new Set<Batch>();
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
    this.heartbeat = setInterval(() => this.send({ type: "heartbeat" }), HEARTBEAT_MS);
  }

  /** Keeps leases that were given together alive until they are dropped; tells when one is lost or is to be canceled. */
  hold<L extends WatchedLease>(held: readonly L[], onEvent: (lease: L, event: LeaseEvent) => void): void {
    if (held.length === 0) return;
    this.lastBatch += 1;
    const batch: Batch = {
      no: this.lastBatch,
      leases: [...held],
      onEvent: onEvent as Batch["onEvent"],
      left: held.length,
      untold: [],
    };
    held.forEach((lease, place) => {
      lease.kept = { batch, place };
    });
    this.batches.add(batch);
    this.send({ type: "hold", batch: packLeases(batch.no, held, processClock()) });
  }

  /** Ends the renewals of a lease after this time: its attempt is over by then, or hopelessly stuck. */
  limit({ kept }: WatchedLease, renewForMs: number): void {
    if (kept) this.send({ type: "limit", at: placeOf(kept), renewForMs });
  }

  /** Drops go out together, a few milliseconds late: a lease that is renewed once more does no harm. */
  drop(lease: WatchedLease): void {
    const { kept } = lease;
    if (!kept) return;
    lease.kept = undefined;
    const { batch, place } = kept;
    batch.leases[place] = undefined;
    batch.left -= 1;
    batch.untold.push(place);
    if (batch.left === 0) this.batches.delete(batch);
    this.changed.add(batch);
    this.dropTimer ??= setTimeout(() => this.sendDropped(), DROP_MS);
  }

  /** The group of this process is killed when the lease is lost, even if the main thread is blocked. */
  spawned({ jobId, leaseNo, kept }: WatchedLease, pid: number): void {
    const at: LeasePlace = kept ? placeOf(kept) : [0, 0];
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
    else for (const lease of message.leases) this.tell(lease, message.type);
  }

  // It happens so seldom that looking for it is cheaper than keeping an index of all leases.
  private tell({ jobId, leaseNo }: Lease, event: LeaseEvent): void {
    for (const { leases, onEvent } of this.batches) {
      const lease = leases.find((one) => one?.jobId === jobId && one.leaseNo === leaseNo);
      if (lease) onEvent(lease, event);
    }
  }
}

const placeOf = ({ batch, place }: KeptLease): LeasePlace => [batch.no, place];
