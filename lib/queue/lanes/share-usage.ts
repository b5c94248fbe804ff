import type { Runner } from "@/lib/db";
import type { Usage } from "./fairness.policy";
import { shareUsageSql } from "./share-usage.sql";

/** Tells what one worker has served, and answers what all of them have by now, of what changed in the last seconds. */
export async function shareUsage(db: Runner, served: readonly Usage[]): Promise<Usage[]> {
  const inOrder = served.toSorted((a, b) => a.tenantId.localeCompare(b.tenantId) || a.queueId - b.queueId);
  const rows = await db.run<{ tenant_id: string; queue_id: number; cost: number }>(shareUsageSql, [
    inOrder.map(({ tenantId }) => tenantId),
    inOrder.map(({ queueId }) => queueId),
    inOrder.map(({ cost }) => cost),
  ]);
  return rows.map((row) => ({ tenantId: row.tenant_id, queueId: row.queue_id, cost: row.cost }));
}
