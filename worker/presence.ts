import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Database } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { beatWorker, drainWorker, registerWorker, stopWorker, type WorkerRegistration } from "@/lib/queue/worker";
import { within } from "./within";

const BEAT_MS = 10_000;
/** Shorter while draining, because the operator watches the number of running jobs go down. */
const DRAIN_BEAT_MS = 1000;
/**
 * An unavailable database does not keep a worker from leaving: the age of its last heartbeat shows the same a little
 * later.
 */
const LAST_WORD_MS = 1000;
const NANO = 1e6;

/** Maintains this worker's row: its registration, the definitions it supports, and its load. */
export class Presence {
  private readonly lag = monitorEventLoopDelay({ resolution: 20 });
  private timer: NodeJS.Timeout | undefined;
  private cpu = process.cpuUsage();
  private sampledAt = performance.now();
  private drainStored: Promise<void> = Promise.resolve();

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly about: { readonly describe: () => WorkerRegistration; readonly runningCount: () => number },
  ) {}

  async start(): Promise<void> {
    this.lag.enable();
    await registerWorker(this.db, this.about.describe());
    this.timer = setInterval(() => void this.beat(), BEAT_MS);
  }

  /** Marks the worker as draining, and sends heartbeats with the number of running jobs more often from now on. */
  drain(): void {
    clearInterval(this.timer);
    this.timer = setInterval(() => void this.beat(), DRAIN_BEAT_MS);
    this.drainStored = drainWorker(this.db, this.about.describe().workerId).then(
      () => this.beat(),
      () => undefined,
    );
  }

  /** Marks the worker as stopped. Gives up if the database does not answer within a second. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.lag.disable();
    const stopped = this.drainStored.then(() => stopWorker(this.db, this.about.describe().workerId));
    await within(LAST_WORD_MS, stopped);
  }

  private async beat(): Promise<void> {
    const worker = this.about.describe();
    try {
      // The row was pruned while heartbeats failed, so the worker registers again.
      if (!(await beatWorker(this.db, worker, this.sample()))) await registerWorker(this.db, worker);
    } catch (error) {
      this.log.warn({ err: error }, "heartbeat failed");
    }
  }

  private sample() {
    const now = performance.now();
    const used = process.cpuUsage(this.cpu);
    const cpuPercent = ((used.user + used.system) / 1000 / (now - this.sampledAt)) * 100;
    this.cpu = process.cpuUsage();
    this.sampledAt = now;
    const eventLoopLagMs = this.lag.max / NANO;
    this.lag.reset();
    return {
      runningCount: this.about.runningCount(),
      cpuPercent: Math.round(cpuPercent * 10) / 10,
      rssBytes: process.memoryUsage.rss(),
      eventLoopLagMs: Number.isFinite(eventLoopLagMs) ? Math.round(eventLoopLagMs * 10) / 10 : 0,
    };
  }
}
