import { asc, eq, sql } from "drizzle-orm";
import { tenants } from "@/drizzle/schema";
import type { Runner } from "@/lib/db";

export interface TenantView {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly status: string;
  /** The tenant's share of the workers, relative to other tenants. */
  readonly weight: number;
  readonly createdAt: Date;
}

const COLUMNS = {
  id: tenants.id,
  slug: tenants.slug,
  name: tenants.name,
  status: tenants.status,
  weight: tenants.weight,
  createdAt: tenants.createdAt,
};
const MOST = 1000;

/** Returns the tenants of the installation, by slug; 1000 at most. */
export function listTenants(db: Runner): Promise<TenantView[]> {
  return db.orm.select(COLUMNS).from(tenants).orderBy(asc(tenants.slug)).limit(MOST);
}

/** Changes a tenant's share of the workers. Returns null when there is no such tenant. */
export async function setTenantWeight(db: Runner, tenantId: string, weight: number): Promise<TenantView | null> {
  const change = { weight, updatedAt: sql`app.now()` };
  const [changed] = await db.orm.update(tenants).set(change).where(eq(tenants.id, tenantId)).returning(COLUMNS);
  return changed ?? null;
}
