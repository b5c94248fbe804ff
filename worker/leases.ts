import { Worker } from "node:worker_threads";
import type { Logger } from "@/lib/observability/log";
import type { Lease } from "@/lib/queue";
import { type FromThread, type HeldLease, type LeaseThreadData, leaseKey, type ToThread } from "./lease-protocol";

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

const DROP_MS = 5;

/** The main thread's side of the lease thread. */
export class Leases {
  private readonly thread: Worker;
  private readonly exited: Promise<unknown>;
  private dropped: Lease[] = [];
  private dropTimer: NodeJS.Timeout | undefined;
  private readonly listeners = new Map<string, (event: LeaseEvent) => void>();

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

  /** Keeps leases alive until they are dropped; each one's `onEvent` hears when it is lost or its job is to be canceled. */
  hold(held: readonly WatchedLease[]): void {
    for (const lease of held) this.listeners.set(leaseKey(lease), lease.onEvent);
    const leases = held.map(({ onEvent: _stays, ...lease }) => lease);
    this.send({ type: "hold", leases });
  }

  /** Ends the renewals of a lease after this time: its attempt is over by then, or hopelessly stuck. */
  limit({ jobId, leaseNo }: Lease, renewForMs: number): void {
    this.send({ type: "limit", lease: { jobId, leaseNo }, renewForMs });
  }

  /** Drops go out together, a few milliseconds late: a lease that is renewed once more does no harm. */
  drop({ jobId, leaseNo }: Lease): void {
    this.listeners.delete(leaseKey({ jobId, leaseNo }));
    this.dropped.push({ jobId, leaseNo });
    this.dropTimer ??= setTimeout(() => this.sendDropped(), DROP_MS);
  }

  /** The group of this process is killed when the lease is lost, even if the main thread is blocked. */
  spawned({ jobId, leaseNo }: Lease, pid: number): void {
    this.send({ type: "spawned", lease: { jobId, leaseNo }, pid });
  }

  async close(): Promise<void> {
    this.sendDropped();
    this.send({ type: "stop" });
    await this.exited;
  }

  private sendDropped(): void {
    clearTimeout(this.dropTimer);
    this.dropTimer = undefined;
    if (this.dropped.length > 0) this.send({ type: "drop", leases: this.dropped });
    this.dropped = [];
  }

  private send(message: ToThread): void {
    this.thread.postMessage(message);
  }

  private hear(message: FromThread): void {
    if (message.type === "are-you-there") this.send({ type: "here" });
    else for (const lease of message.leases) this.listeners.get(leaseKey(lease))?.(message.type);
  }
}
