import { asc } from "drizzle-orm";
import { providers } from "@/drizzle/schema";
import type { TenantProvider } from "@/lib/contract";
import { columnsOf, type Database, ofTenant, type TenantTransaction, withTenant } from "@/lib/db";

const LISTED = 1000;
const PROVIDER = columnsOf(providers, "id", "name", "created_at");

/** Lists a tenant's folders by name, without paths: only super admins see where folders lie on the machine. */
export async function listTenantProviders(
  db: Database | TenantTransaction,
  tenantId: string,
): Promise<TenantProvider[]> {
  if (!("tenantId" in db)) return withTenant(db, tenantId, (tx) => listTenantProviders(tx, tenantId));
  const rows = await db.orm
    .select(PROVIDER)
    .from(providers)
    .where(ofTenant(providers.tenant_id, tenantId))
    .orderBy(asc(providers.name))
    .limit(LISTED);
  return rows.map((row) => ({ ...row, kind: "folder" }));
}
