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

/** The main thread's side of the lease thread. */
export class Leases {
  private readonly thread: Worker;
  private readonly exited: Promise<unknown>;
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

  /** Keeps a lease alive until it is dropped; `onEvent` hears when it is lost or its job is to be canceled. */
  hold(lease: HeldLease, onEvent: (event: LeaseEvent) => void): void {
    this.listeners.set(leaseKey(lease), onEvent);
    this.send({ type: "hold", lease });
  }

  /** Ends the renewals of a lease after this time: its attempt is over by then, or hopelessly stuck. */
  limit({ jobId, leaseNo }: Lease, renewForMs: number): void {
    this.send({ type: "limit", lease: { jobId, leaseNo }, renewForMs });
  }

  drop({ jobId, leaseNo }: Lease): void {
    this.listeners.delete(leaseKey({ jobId, leaseNo }));
    this.send({ type: "drop", lease: { jobId, leaseNo } });
  }

  /** The group of this process is killed when the lease is lost, even if the main thread is blocked. */
  spawned({ jobId, leaseNo }: Lease, pid: number): void {
    this.send({ type: "spawned", lease: { jobId, leaseNo }, pid });
  }

  async close(): Promise<void> {
    this.send({ type: "stop" });
    await this.exited;
  }

  private send(message: ToThread): void {
    this.thread.postMessage(message);
  }

  private hear(message: FromThread): void {
    if (message.type === "are-you-there") this.send({ type: "here" });
    else for (const lease of message.leases) this.listeners.get(leaseKey(lease))?.(message.type);
  }
}
