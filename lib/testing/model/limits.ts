import type { LimitModel } from "./shapes";

/** A limit of one tenant: concurrent leases, and a token bucket for starts that refills with time. */
export class LimitsModel {
  private limit: LimitModel = { running: null, starts: null };
  private bucket: { tokens: number; at: number } | null = null;

  get any(): boolean {
    return this.limit.running !== null || this.limit.starts !== null;
  }

  /** Replaces the limit. Removing a limit removes its bucket; changing a limit keeps it. */
  set(limit: LimitModel): void {
    this.limit = limit;
    if (!this.any) this.bucket = null;
  }

  /** Returns the maximum number of jobs that a claim may take while `running` jobs run. */
  capacity(running: number, now: number): number {
    const slots = this.limit.running === null ? Number.POSITIVE_INFINITY : Math.max(0, this.limit.running - running);
    return Math.min(slots, Math.floor(this.tokens(now)));
  }

  started(now: number): void {
    if (this.limit.starts !== null) this.bucket = { tokens: this.tokens(now) - 1, at: now };
  }

  private tokens(now: number): number {
    const { starts } = this.limit;
    if (starts === null) return Number.POSITIVE_INFINITY;
    if (this.bucket === null) return starts.burst;
    return Math.min(starts.burst, this.bucket.tokens + (starts.perSecond * (now - this.bucket.at)) / 1000);
  }
}
