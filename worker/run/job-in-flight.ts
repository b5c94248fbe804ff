import type { StopReason } from "@/lib/execution";
import type { ClaimedJob } from "@/lib/queue/worker";
import { processClock } from "../lease/lease-protocol";
import type { KeptLease, WatchedLease } from "../lease/leases";
import type { Attempt } from "./execute-attempt";

/** A job that a worker holds. Its signal is made when somebody asks for it, which few attempts do. */
export class JobInFlight implements Attempt, WatchedLease {
  /** `aside` = it runs without a place; `ended` = it runs no more, and its end is being recorded. */
  phase: "waiting" | "running" | "aside" | "ended" = "waiting";
  /** How long it had a place, once it has left it. */
  ranMs = 0;
  /** When its attempt began, by the monotonic clock, if a note says so and not its own row. */
  beganAt: number | undefined;
  kept: KeptLease | undefined;
  #reason: StopReason | undefined;
  #controller: AbortController | undefined;
  #pids: Set<number> | undefined;

  /**
   * @param takenAt by the monotonic clock
   * @param since from when its lease counts, by `processClock`
   * @param renewForMs for how long it may be renewed
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
   * Whether the time that its claim gave it is over. A process that was suspended may hear of a claim when others have begun
   * what it claimed.
   */
  isOver(): boolean {
    return processClock() - this.since >= this.leaseSeconds * 1000;
  }

  /**
   * True while the job's expires_at is certainly still to come: the claim was sent at `since`, so the database's clock is no
   * further from `claimedAt` than this process's clock is from `since`.
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

  /** The first reason stands. */
  stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  /** Its process groups. */
  get pids(): Iterable<number> {
    return this.#pids ?? [];
  }

  spawned(pid: number): void {
    this.#pids ??= new Set();
    this.#pids.add(pid);
  }

  /** Its processes are gone. */
  executed(): void {
    this.#pids = undefined;
  }
}
