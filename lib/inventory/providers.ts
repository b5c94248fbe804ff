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
import { type Database, ofTenant, type Runner, statement, withTenant } from "@/lib/db";

interface ProviderRow extends Record<string, unknown> {
  id: string;
  tenant_id: string;
  tenant_slug: string;
  name: string;
  kind: "folder";
  path: string;
  created_at: Date;
}

const LISTED = 1000;

const insertSql = statement(
  "platform_insert_provider",
  `with target as (select id, slug from app.tenants where slug = $1 or id::text = $1 limit 1), made as (
     insert into app.providers (tenant_id, name, kind, path, created_by)
     select id, $2, $3, $4, $5 from target
     on conflict (tenant_id, name) do nothing
     returning id, tenant_id, name, kind, path, created_at)
   select target.id as known_tenant, made.*, target.slug as tenant_slug from target left join made on true`,
);

/** Lists all registered folders, or those of one tenant (id or slug). */
export async function listProviders(db: Runner, tenant: string | null): Promise<Provider[]> {
  const rows = await db.orm
    .select({
      id: providers.id,
      tenant_id: providers.tenantId,
      tenant_slug: tenants.slug,
      name: providers.name,
      kind: providers.kind,
      path: providers.path,
      created_at: providers.createdAt,
    })
    .from(providers)
    .innerJoin(tenants, eq(tenants.id, providers.tenantId))
    .where(tenant === null ? undefined : or(eq(tenants.slug, tenant), eq(sql`${tenants.id}::text`, tenant)))
    .orderBy(tenants.slug, providers.name)
    .limit(LISTED);
  return rows.map((row) => toProvider({ ...row, kind: "folder" }));
}

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
  const { tenant, name, kind, path, createdBy } = provider;
  const [row] = await db.run<ProviderRow & { known_tenant: string; id: string | null }>(insertSql, [
    tenant,
    name,
    kind,
    path,
    createdBy,
  ]);
  if (!row) return "no-tenant";
  return row.id === null ? "name-taken" : toProvider(row);
}

/** Stores the new path of a folder that was moved with its files. Returns null if the tenant has no such folder. */
export async function moveProvider(
  db: Runner,
  { tenantId, name, path }: { tenantId: string; name: string; path: string },
) {
  const [moved] = await db.orm
    .update(providers)
    .set({ path })
    .where(and(ofTenant(providers.tenantId, tenantId), eq(providers.name, name)))
    .returning({ id: providers.id, path: providers.path });
  return moved ?? null;
}

function toProvider({ id, tenant_id, tenant_slug, name, kind, path, created_at }: ProviderRow): Provider {
  return { id, tenant_id, tenant_slug, name, kind, path, created_at: created_at.toISOString() };
}

/** Returns the path of a tenant's provider; null when the tenant has no such provider. */
export async function findProviderPath(db: Database, tenantId: string, providerId: string): Promise<string | null> {
  const [found] = await withTenant(db, tenantId, ({ orm }) =>
    orm
      .select({ path: providers.path })
      .from(providers)
      .where(and(ofTenant(providers.tenantId, tenantId), eq(providers.id, providerId))),
  );
  return found?.path ?? null;
}
