interface Limits {
  /** What each may take before it has to wait. */
  readonly burstMs: number;
  /** Of the time that passes, each may take one part in so many; 0: no limit. */
  readonly oneIn: number;
}

/** Divides the time of a loop between tenants: each may take some at once, and then a share of the time that passes. */
export class TimeShare {
  /** Time taken and not yet made up for, by tenant. */
  readonly #debts = new Map<string, { readonly ms: number; readonly at: number }>();

  constructor(private readonly limits: Limits) {}

  /** Whether work of this tenant may begin. `now`: milliseconds of the clock that `took` uses. */
  mayBegin(tenantId: string, now: number): boolean {
    return this.#debtOf(tenantId, now) <= this.limits.burstMs;
  }

  /** Counts work of this tenant that has ended. */
  took(tenantId: string, ms: number, now: number): void {
    if (this.limits.oneIn > 0) this.#debts.set(tenantId, { ms: this.#debtOf(tenantId, now) + ms, at: now });
  }

  #debtOf(tenantId: string, now: number): number {
    const debt = this.#debts.get(tenantId);
    if (!debt) return 0;
    const left = debt.ms - (now - debt.at) / this.limits.oneIn;
    if (left > 0) return left;
    this.#debts.delete(tenantId);
    return 0;
  }
}
