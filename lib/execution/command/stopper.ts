import type { ProcessGroup } from "../process/group";
import { startTimer, type Timer } from "../timer";
import type { StopReason } from "../types";

export interface StopPlan {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number | undefined;
  readonly graceSeconds: number;
  /** Called once, when the stop begins. */
  readonly onStop: (reason: StopReason) => void;
}

const KILL_WITHIN_MS = 5000;

/** Stops a command on its signal or at its time limit: TERM to the group, a grace period, then KILL. */
export class Stopper {
  readonly #group: ProcessGroup;
  readonly #plan: StopPlan;
  readonly #timers: Timer[] = [];
  readonly #listener: () => void;
  #reason: StopReason | null = null;

  constructor(group: ProcessGroup, plan: StopPlan) {
    this.#group = group;
    this.#plan = plan;
    this.#listener = () => this.#stop(stopReason(plan.signal));
    plan.signal.addEventListener("abort", this.#listener, { once: true });
    if (plan.timeoutSeconds !== undefined)
      this.#timers.push(startTimer(plan.timeoutSeconds, () => this.#stop("timeout")));
    // The signal may have been aborted while the process was starting.
    if (plan.signal.aborted) this.#listener();
  }

  get reason(): StopReason | null {
    return this.#reason;
  }

  /** Stops listening for the signal and the timers. */
  dispose(): void {
    this.#plan.signal.removeEventListener("abort", this.#listener);
    for (const timer of this.#timers) timer.cancel();
  }

  #stop(reason: StopReason): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#plan.onStop(reason);
    // Another worker may already be starting the job again, so there is no grace period.
    const grace = reason === "lease-lost" ? 0 : this.#plan.graceSeconds;
    if (grace <= 0) return void this.#group.kill(KILL_WITHIN_MS);
    this.#group.signal("SIGTERM");
    this.#timers.push(startTimer(grace, () => void this.#group.kill(KILL_WITHIN_MS)));
  }
}

const REASONS: ReadonlySet<unknown> = new Set<StopReason>(["timeout", "cancel", "lease-lost", "shutdown"]);

/**
 * Returns why a signal was aborted. Any unknown reason counts as a shutdown: the job is released and nothing is lost.
 */
export function stopReason(signal: AbortSignal): StopReason {
  return REASONS.has(signal.reason) ? (signal.reason as StopReason) : "shutdown";
}
