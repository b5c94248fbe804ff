interface Limits {
  /** Time each tenant may take before it has to wait. */
  readonly burstMs: number;
  /** Each tenant may take 1/`oneIn` of the time that passes; 0 means no limit. */
  readonly oneIn: number;
}

/** Divides a loop's time among tenants: each may take a burst, and then a share of the time that passes. */
export class TimeShare {
  /** Time taken and not yet paid back, by tenant. */
  readonly #debts = new Map<string, { readonly ms: number; readonly at: number }>();

  constructor(private readonly limits: Limits) {}

  /** True if work of this tenant may begin. `now` is in milliseconds, by the same clock as in `took`. */
  mayBegin(tenantId: string, now: number): boolean {
    return this.#debtOf(tenantId, now) <= this.limits.burstMs;
  }

  /** Charges a tenant for work that has ended. */
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
