/** Counts a worker's taken slots by tenant. */
export class SlotsByTenant {
  private readonly byTenant = new Map<string, number>();
  private taken = 0;

  took(tenantId: string, count = 1): void {
    this.byTenant.set(tenantId, (this.byTenant.get(tenantId) ?? 0) + count);
    this.taken += count;
  }

  left(tenantId: string): void {
    const own = (this.byTenant.get(tenantId) ?? 1) - 1;
    if (own > 0) this.byTenant.set(tenantId, own);
    else this.byTenant.delete(tenantId);
    this.taken -= 1;
  }

  /**
   * Returns how many of the free slots a tenant may take. While other tenants are active, one tenant never fills a
   * worker of two or more slots, because another tenant's next job would have to wait until a slot is free.
   */
  mostOf(tenantId: string, { free, hasOthers }: { readonly free: number; readonly hasOthers: boolean }): number {
    const isAlone = this.taken === (this.byTenant.get(tenantId) ?? 0);
    return hasOthers && isAlone && this.taken + free >= 2 ? free - 1 : free;
  }

  /** Returns how many more of `most` slots a tenant may take, to have half of those that other tenants leave free. */
  halfOf(tenantId: string, most: number): number {
    const own = this.byTenant.get(tenantId) ?? 0;
    const half = Math.ceil((most - (this.taken - own)) / 2);
    return Math.max(0, Math.min(half - own, most - this.taken));
  }

  copy(): SlotsByTenant {
    const copy = new SlotsByTenant();
    for (const [tenantId, count] of this.byTenant) copy.took(tenantId, count);
    return copy;
  }
}
