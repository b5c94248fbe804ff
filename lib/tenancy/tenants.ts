import { asc, eq, sql } from "drizzle-orm";
import { tenants } from "@/drizzle/schema";
import type { Tenant } from "@/lib/contract";
import { columnsOf, type Runner } from "@/lib/db";

const TENANT = columnsOf(tenants, "id", "slug", "name", "status", "weight", "created_at");
const MOST = 1000;

/** Returns the tenants of the installation, by slug; 1000 at most. */
export function listTenants(db: Runner): Promise<Tenant[]> {
  return db.orm.select(TENANT).from(tenants).orderBy(asc(tenants.slug)).limit(MOST);
}

/** Changes a tenant's share of the workers. Returns null when there is no such tenant. */
export async function setTenantWeight(db: Runner, tenantId: string, weight: number): Promise<Tenant | null> {
  const change = { weight, updated_at: sql`app.now()` };
  const [changed] = await db.orm.update(tenants).set(change).where(eq(tenants.id, tenantId)).returning(TENANT);
  return changed ?? null;
}
