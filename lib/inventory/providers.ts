/**
 * A tenant's inventory: registered folders (providers), the files in them (assets), and imported lists. Start here.
 *
 * A super admin registers folders; their real path must lie inside PROVIDER_ROOTS, so no link leads out. The scheduler
 * watches folders for changes (watches.ts, read-folders.ts), and the shipped jobs fill assets and lists. Tenants see
 * folders by name only, without paths.
 */

import { and, eq, or, sql } from "drizzle-orm";
import { providers, tenants } from "@/drizzle/schema";
import type { Provider } from "@/lib/contract";
import { columnsOf, type Database, ofTenant, type Runner, withTenant } from "@/lib/db";

const LISTED = 1000;
const PROVIDER = columnsOf(providers, "id", "tenant_id", "name", "path", "created_at");
const KIND = { kind: "folder" } as const;

/** Lists all registered folders, or those of one tenant (id or slug). */
export async function listProviders(db: Runner, tenant: string | null): Promise<Provider[]> {
  const rows = await db.orm
    .select({ ...PROVIDER, tenant_slug: tenants.slug })
    .from(providers)
    .innerJoin(tenants, eq(tenants.id, providers.tenant_id))
    .where(tenant === null ? undefined : isTenant(tenant))
    .orderBy(tenants.slug, providers.name)
    .limit(LISTED);
  return rows.map((row) => ({ ...row, ...KIND }));
}

/** True for the tenant with this slug or id. */
const isTenant = (named: string) => or(eq(tenants.slug, named), eq(sql`${tenants.id}::text`, named));

export interface NewProvider {
  readonly tenant: string;
  readonly name: string;
  readonly kind: "folder";
  /** The real path of the folder, already checked. */
  readonly path: string;
  readonly createdBy: string | null;
}

/** Registers a folder for a tenant. Returns "no-tenant" or "name-taken" if that is not possible. */
export async function insertProvider(
  db: Runner,
  provider: NewProvider,
): Promise<Provider | "no-tenant" | "name-taken"> {
  const [owner] = await db.orm
    .select({ id: tenants.id, tenant_slug: tenants.slug })
    .from(tenants)
    .where(isTenant(provider.tenant))
    .limit(1);
  if (!owner) return "no-tenant";
  const { name, kind, path, createdBy: created_by } = provider;
  const [made] = await db.orm
    .insert(providers)
    .values({ tenant_id: owner.id, name, kind, path, created_by })
    .onConflictDoNothing({ target: [providers.tenant_id, providers.name] })
    .returning(PROVIDER);
  return made ? { ...made, ...KIND, tenant_slug: owner.tenant_slug } : "name-taken";
}

/** Stores the new path of a folder that was moved with its files. Returns null if the tenant has no such folder. */
export async function moveProvider(
  db: Runner,
  { tenantId, name, path }: { tenantId: string; name: string; path: string },
) {
  const [moved] = await db.orm
    .update(providers)
    .set({ path })
    .where(and(ofTenant(providers.tenant_id, tenantId), eq(providers.name, name)))
    .returning({ id: providers.id, path: providers.path });
  return moved ?? null;
}

/** Returns the path of a tenant's provider; null when the tenant has no such provider. */
export async function findProviderPath(db: Database, tenantId: string, providerId: string): Promise<string | null> {
  const [found] = await withTenant(db, tenantId, ({ orm }) =>
    orm
      .select({ path: providers.path })
      .from(providers)
      .where(and(ofTenant(providers.tenant_id, tenantId), eq(providers.id, providerId))),
  );
  return found?.path ?? null;
}
