import { eq } from "drizzle-orm";
import { tenants } from "@/drizzle/schema";
import { type Database, withTenant } from "@/lib/db";

/** Returns the IANA zone of a tenant, the default of its schedules. */
export function readTimezone(db: Database, { tenantId }: { readonly tenantId: string }): Promise<string> {
  return withTenant(db, tenantId, async ({ orm }) => {
    const [row] = await orm.select({ timezone: tenants.timezone }).from(tenants).where(eq(tenants.id, tenantId));
    return row?.timezone ?? "UTC";
  });
}
