import type { Runner } from "@/lib/db";
import type { Usage } from "./fairness.policy";
import { shareUsageSql } from "./share-usage.sql";

/**
 * Adds one worker's usage. Returns the totals over all workers, for the tenants and queues whose usage changed in the
 * last 5 seconds.
 */
export async function shareUsage(db: Runner, served: readonly Usage[]): Promise<Usage[]> {
  const inOrder = served.toSorted((a, b) => a.tenantId.localeCompare(b.tenantId) || a.queueId - b.queueId);
  const rows = await db.run<{ tenant_id: string; queue_id: number; cost: number }>(shareUsageSql, [
    inOrder.map(({ tenantId }) => tenantId),
    inOrder.map(({ queueId }) => queueId),
    inOrder.map(({ cost }) => cost),
  ]);
  return rows.map((row) => ({ tenantId: row.tenant_id, queueId: row.queue_id, cost: row.cost }));
}
