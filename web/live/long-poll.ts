import { shutdownSignal } from "@/lib/api/runtime";
import type { WaitedLane } from "@/web/live/work-hub";
import { waitForWork } from "./work-source";

/** Poll interval, and so the longest delay that a lost wake-up can cause. */
const LOOK_AGAIN_MS = 5000;

export type Woken = "work" | "cancel" | "time" | "end";

/** One waiting claim. Wake-ups that come while it is busy are kept for its next wait. */
export class LongPoll {
  private readonly since = performance.now();
  private readonly until: number;
  private readonly pending = new Set<"work" | "cancel">();
  private readonly undo: (() => void)[] = [];
  private ended = false;
  private notify: (() => void) | undefined;

  constructor(
    waitSeconds: number,
    private readonly client: AbortSignal,
    wants: (lane: WaitedLane) => boolean,
  ) {
    this.until = this.since + waitSeconds * 1000;
    for (const signal of [client, shutdownSignal()]) this.endOn(signal);
    if (waitSeconds === 0) return;
    this.undo.push(
      waitForWork({
        wants,
        wake: (reason) => {
          this.pending.add(reason);
          this.notify?.();
        },
      }),
    );
  }

  /** True when an answer with work is no longer needed: the client has left, or the process is shutting down. */
  get over(): boolean {
    return this.ended;
  }

  get clientLeft(): boolean {
    return this.client.aborted;
  }

  /** Returns the milliseconds since the claim arrived. */
  age(): number {
    return performance.now() - this.since;
  }

  /** True when the client's wait time is over. */
  get due(): boolean {
    return performance.now() >= this.until;
  }

  /** Waits for a reason to look again, at most `withinMs`. `time` means look once more; `end` means answer now. */
  async next(withinMs = LOOK_AGAIN_MS): Promise<Woken> {
    if (this.pending.size === 0 && !this.ended) await this.sleep(withinMs);
    if (this.ended) return "end";
    for (const reason of ["work", "cancel"] as const) if (this.pending.delete(reason)) return reason;
    return "time";
  }

  close(): void {
    for (const step of this.undo.splice(0)) step();
  }

  private sleep(withinMs: number): Promise<void> {
    const ms = Math.max(0, Math.min(withinMs, this.until - performance.now()));
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.notify = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private endOn(signal: AbortSignal): void {
    const end = () => {
      this.ended = true;
      this.notify?.();
    };
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    this.undo.push(() => signal.removeEventListener("abort", end));
  }
}
