/** Whose jobs fill the places of a worker. */
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
   * How many of the free places a tenant may take. A worker with two places or more is never filled by one tenant while
   * there are others: the next job of another would have to wait until one of them ends.
   */
  mostOf(tenantId: string, { free, hasOthers }: { readonly free: number; readonly hasOthers: boolean }): number {
    const isAlone = this.taken === (this.byTenant.get(tenantId) ?? 0);
    return hasOthers && isAlone && this.taken + free >= 2 ? free - 1 : free;
  }
}
