import { type Database, statement, withTenant } from "@/lib/db";

const readTimezoneSql = statement("tenancy_read_timezone", "select timezone from app.tenants where id = $1");

/** Returns the IANA zone of a tenant, the default of its schedules. */
export function readTimezone(db: Database, { tenantId }: { readonly tenantId: string }): Promise<string> {
  return withTenant(db, tenantId, async (tx) => {
    const [row] = await tx.run<{ timezone: string }>(readTimezoneSql, [tenantId]);
    return row?.timezone ?? "UTC";
  });
}
