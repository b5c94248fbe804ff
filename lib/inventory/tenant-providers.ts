import type { TenantProvider } from "@/lib/contract";
import { type Database, statement, type TenantTransaction, withTenant } from "@/lib/db";
import { tenantIs } from "@/lib/db/tenant-filter";

interface ProviderRow extends Record<string, unknown> {
  id: string;
  name: string;
  kind: "folder";
  created_at: Date;
}

const listSql = statement(
  "tenant_list_providers",
  `select id, name, kind, created_at from app.providers where ${tenantIs("tenant_id")} order by name limit 1000`,
);

/** Lists a tenant's folders by name, without paths: only super admins see where folders lie on the machine. */
export async function listTenantProviders(
  db: Database | TenantTransaction,
  tenantId: string,
): Promise<TenantProvider[]> {
  if (!("tenantId" in db)) return withTenant(db, tenantId, (tx) => listTenantProviders(tx, tenantId));
  const rows = await db.run<ProviderRow>(listSql, [tenantId]);
  return rows.map(({ id, name, kind, created_at }) => ({ id, name, kind, created_at: created_at.toISOString() }));
}
