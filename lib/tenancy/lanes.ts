import { lanes } from "@/drizzle/schema";
import { type Database, ofTenant, withTenant } from "@/lib/db";

/** Returns the opaque numbers of a tenant's lanes, as used in notifications. */
export async function tenantLanes(db: Database, tenantId: string): Promise<Set<number>> {
  const rows = await withTenant(db, tenantId, ({ orm }) =>
    orm.select({ laneNo: lanes.laneNo }).from(lanes).where(ofTenant(lanes.tenantId, tenantId)),
  );
  return new Set(rows.map((row) => row.laneNo));
}
