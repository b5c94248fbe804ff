/** Counts a worker's taken slots by tenant. */
export class SlotsByTenant {
  private readonly byTenant = new Map<string, number>();
  private taken = 0;

  took(tenantId: string): void {
    this.byTenant.set(tenantId, (this.byTenant.get(tenantId) ?? 0) + 1);
    this.taken += 1;
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
}
