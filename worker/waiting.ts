import type { ClaimedJob } from "@/lib/queue";

/** Jobs that were claimed ahead. The tenants take turns, so that one's many jobs do not put another's behind them. */
export class Waiting<T extends { readonly job: Pick<ClaimedJob, "tenantId"> }> {
  private readonly tenants = new Map<string, Set<T>>();
  size = 0;

  add(item: T): void {
    const { tenantId } = item.job;
    const own = this.tenants.get(tenantId) ?? new Set();
    this.tenants.set(tenantId, own.add(item));
    this.size += 1;
  }

  /** Takes out whose turn it is. */
  next(): T | undefined {
    const [first] = this.tenants;
    if (!first) return undefined;
    const [tenantId, own] = first;
    const [item] = own;
    if (!item) return undefined;
    this.remove(item);
    if (own.size > 0) {
      this.tenants.delete(tenantId);
      this.tenants.set(tenantId, own);
    }
    return item;
  }

  /** Harmless when it is not there. */
  remove(item: T): void {
    const { tenantId } = item.job;
    const own = this.tenants.get(tenantId);
    if (!own?.delete(item)) return;
    this.size -= 1;
    if (own.size === 0) this.tenants.delete(tenantId);
  }

  all(): T[] {
    return [...this.tenants.values()].flatMap((own) => [...own]);
  }
}
