import type { StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";
import { processClock } from "../lease/lease-protocol";
import type { KeptLease, WatchedLease } from "../lease/leases";
import type { AttemptToRun } from "./run-with-output";

/** A job in flight on this worker. Its abort signal is created on first use, because few attempts use it. */
export class JobInFlight implements AttemptToRun, WatchedLease {
  /** `aside` = runs without a slot; `ended` = no longer runs, and its end is being recorded. */
  phase: "waiting" | "running" | "aside" | "ended" = "waiting";
  /** How long the job had a slot, once it has left it. */
  ranMs = 0;
  /** When the attempt began, by the monotonic clock, if a mark records it instead of its own row. */
  beganAt: number | undefined;
  kept: KeptLease | undefined;
  #reason: StopReason | undefined;
  #controller: AbortController | undefined;
  #pids: Set<number> | undefined;

  /**
   * @param takenAt by the monotonic clock
   * @param since when its lease begins, by `processClock`
   * @param renewForMs for how long its lease may be renewed
   */
  constructor(
    readonly job: ClaimedJob,
    readonly takenAt: number,
    readonly since: number,
    readonly renewForMs: number,
  ) {}

  get jobId(): string {
    return this.job.jobId;
  }

  get leaseNo(): number {
    return this.job.leaseNo;
  }

  get leaseSeconds(): number {
    return this.job.leaseSeconds;
  }

  /**
   * True once the lease that the claim gave has expired. A suspended process may receive a claim's answer after other
   * workers have begun those jobs.
   */
  isOver(): boolean {
    return processClock() - this.since >= this.leaseSeconds * 1000;
  }

  /**
   * True while the job's expires_at is certainly still to come. The claim was sent at `since`, so the database's clock
   * is no further from `claimedAt` than this process's clock is from `since`.
   */
  isInTime(): boolean {
    const { expiresInMs } = this.job;
    return expiresInMs === null || processClock() - this.since < expiresInMs;
  }

  get stopReason(): StopReason | undefined {
    return this.#reason;
  }

  get isLost(): boolean {
    return this.#reason === "lease-lost";
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Stops the attempt. The first reason stands. */
  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** The attempt's process groups. */
  get pids(): Iterable<number> {
    return this.#pids ?? [];
  }

  spawned(pid: number): void {
    this.#pids ??= new Set();
    this.#pids.add(pid);
  }

  /** Forgets the process groups, because its processes are gone. */
  forgetProcesses(): void {
    this.#pids = undefined;
  }
}
