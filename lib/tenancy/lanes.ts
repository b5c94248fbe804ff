import { lanes } from "@/drizzle/schema";
import { type Database, ofTenant, withTenant } from "@/lib/db";

/** Returns the opaque numbers of a tenant's lanes, as used in notifications. */
export async function tenantLanes(db: Database, tenantId: string): Promise<Set<number>> {
  const rows = await withTenant(db, tenantId, ({ orm }) =>
    orm.select({ lane_no: lanes.lane_no }).from(lanes).where(ofTenant(lanes.tenant_id, tenantId)),
  );
  return new Set(rows.map((row) => row.lane_no));
}
