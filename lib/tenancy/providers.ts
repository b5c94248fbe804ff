import type { Provider } from "@/lib/contract";
import { type Database, type Runner, statement, tenantIs, withTenant } from "@/lib/db";

interface ProviderRow extends Record<string, unknown> {
  id: string;
  tenant_id: string;
  tenant_slug: string;
  name: string;
  kind: "folder";
  path: string;
  created_at: Date;
}

const listSql = statement(
  "platform_list_providers",
  `select p.id, p.tenant_id, t.slug as tenant_slug, p.name, p.kind, p.path, p.created_at
   from app.providers p join app.tenants t on t.id = p.tenant_id
   where $1::text is null or t.slug = $1 or t.id::text = $1
   order by t.slug, p.name limit 1000`,
);

const insertSql = statement(
  "platform_insert_provider",
  `with target as (select id, slug from app.tenants where slug = $1 or id::text = $1 limit 1), made as (
     insert into app.providers (tenant_id, name, kind, path, created_by)
     select id, $2, $3, $4, $5 from target
     on conflict (tenant_id, name) do nothing
     returning id, tenant_id, name, kind, path, created_at)
   select target.id as known_tenant, made.*, target.slug as tenant_slug from target left join made on true`,
);

/** All registered folders, or those of one tenant (id or slug). */
export async function listProviders(db: Runner, tenant: string | null): Promise<Provider[]> {
  return (await db.run<ProviderRow>(listSql, [tenant])).map(toProvider);
}

export interface NewProvider {
  readonly tenant: string;
  readonly name: string;
  readonly kind: "folder";
  /** The real path of the folder, already checked. */
  readonly path: string;
  readonly createdBy: string | null;
}

/** Registers a folder for a tenant; says so when there is no such tenant or the tenant uses the name already. */
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

function toProvider({ id, tenant_id, tenant_slug, name, kind, path, created_at }: ProviderRow): Provider {
  return { id, tenant_id, tenant_slug, name, kind, path, created_at: created_at.toISOString() };
}

const pathSql = statement(
  "tenant_provider_path",
  `select path from app.providers where ${tenantIs("tenant_id")} and id = $2`,
  {
    repeatable: true,
  },
);

/** The folder of a tenant's provider; null when the tenant has no such provider. */
export async function findProviderPath(db: Database, tenantId: string, providerId: string): Promise<string | null> {
  const rows = await withTenant(db, tenantId, (tx) => tx.run<{ path: string }>(pathSql, [tenantId, providerId]));
  return rows[0]?.path ?? null;
}
