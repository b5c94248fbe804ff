import { type Database, withTenant } from "@/lib/db";
import { tenantLanesSql } from "./tenant-lanes.sql";

/** Returns the opaque numbers of a tenant's lanes, as used in notifications. */
export async function tenantLanes(db: Database, tenantId: string): Promise<Set<number>> {
  const rows = await withTenant(db, tenantId, (tx) => tx.run<{ lane_no: number }>(tenantLanesSql, [tenantId]));
  return new Set(rows.map((row) => row.lane_no));
}
