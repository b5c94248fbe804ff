import { stoppedOutcome } from "../command/outcome";
import { stopReason } from "../command/stopper";
import { startTimer, type Timer } from "../timer";
import type { Outcome, RunContext, StopReason } from "../types";

/** Watches to arm after this turn of the event loop. */
let soon: StopWatch[] = [];

function armAll(): void {
  const all = soon;
  soon = [];
  for (const watch of all) watch.arm();
}

/**
 * Watches the clock and the worker's signal for one handler. Most handlers end in the turn of the event loop in which
 * they began, where nothing can stop them. So the watch is armed after that turn, and such handlers cost no timer and
 * no listener.
 */
export class StopWatch {
  #abort: AbortController | undefined;
  #reason: StopReason | undefined;
  #timers: Timer[] | undefined;
  #listener: (() => void) | undefined;
  #disposed = false;
  readonly #ctx: RunContext;
  readonly #began = performance.now();
  readonly #onOver: (outcome: Outcome) => void;

  /** @param onOver is called when a stopped handler has used up its grace period */
  constructor(ctx: RunContext, onOver: (outcome: Outcome) => void) {
    this.#ctx = ctx;
    this.#onOver = onOver;
    if (ctx.stopped ? ctx.stopped() !== undefined : ctx.signal.aborted) this.arm();
    else if (soon.push(this) === 1) setImmediate(armAll);
  }

  get isStopped(): boolean {
    return this.#reason !== undefined;
  }

  /** Created on first use, because few handlers use it. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  outcome(detail: string): Outcome {
    return stoppedOutcome(this.#reason ?? "shutdown", detail);
  }

  arm(): void {
    if (this.#disposed) return;
    const { signal, timeoutSeconds } = this.#ctx;
    this.#listener = () => this.#stop(stopReason(signal));
    signal.addEventListener("abort", this.#listener, { once: true });
    if (timeoutSeconds !== undefined) {
      const left = timeoutSeconds - (performance.now() - this.#began) / 1000;
      this.#timers = [startTimer(left, () => this.#stop("timeout"))];
    }
    if (signal.aborted) this.#listener();
  }

  dispose(): void {
    this.#disposed = true;
    if (this.#listener) this.#ctx.signal.removeEventListener("abort", this.#listener);
    for (const timer of this.#timers ?? []) timer.cancel();
  }

  #stop(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#abort?.abort(reason);
    const grace = reason === "lease-lost" ? 0 : this.#ctx.killGraceSeconds;
    const giveUp = () => this.#onOver(this.outcome("the handler did not stop in its grace period and was abandoned"));
    this.#timers ??= [];
    this.#timers.push(startTimer(grace, giveUp));
  }
}
