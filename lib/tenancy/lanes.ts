import { type Database, statement, tenantIs, withTenant } from "@/lib/db";

const laneNumbers = statement("tenant_lane_numbers", `select lane_no from app.lanes where ${tenantIs("tenant_id")}`, {
  repeatable: true,
});

/** The opaque numbers that wake-ups use for a tenant's lanes. */
export async function tenantLanes(db: Database, tenantId: string): Promise<Set<number>> {
  const rows = await withTenant(db, tenantId, (tx) => tx.run<{ lane_no: number }>(laneNumbers, [tenantId]));
  return new Set(rows.map((row) => row.lane_no));
}
