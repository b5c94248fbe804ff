import type { Asset } from "@/lib/contract";
import { type Database, statement, type TenantTransaction, withTenant } from "@/lib/db";
import { tenantIs } from "@/lib/db/tenant-filter";

const COUNTED = 10_000;

export interface AssetFilter {
  readonly providerId?: string;
}

export interface AssetPageRequest {
  readonly limit: number;
  readonly offset?: number;
  /** The last id of the page before; ids fall. */
  readonly afterId?: string;
}

export interface AssetPage {
  readonly assets: readonly Asset[];
  readonly hasMore: boolean;
  /** Exact up to 10,000. */
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

interface AssetRow extends Record<string, unknown> {
  id: string;
  provider_id: string;
  path: string;
  size: string;
  sha256: string;
  media_type: string;
  modified_at: Date;
  created_at: Date;
  updated_at: Date;
}

const pageSql = statement(
  "tenant_list_assets",
  `select id, provider_id, path, size::text, sha256, media_type, modified_at, created_at, updated_at from app.assets
   where ${tenantIs("tenant_id")} and ($2::uuid is null or provider_id = $2) and ($3::uuid is null or id < $3)
   order by id desc limit $4 offset $5`,
);

const countSql = statement(
  "tenant_count_assets",
  `select count(*)::int as n from (select 1 from app.assets
   where ${tenantIs("tenant_id")} and ($2::uuid is null or provider_id = $2) limit ${COUNTED + 1}) counted`,
);

/** A page of a tenant's inventory, newest first. */
export async function listAssets(
  db: Database | TenantTransaction,
  tenantId: string,
  { filter, page }: { filter: AssetFilter; page: AssetPageRequest },
): Promise<AssetPage> {
  if (!("tenantId" in db)) return withTenant(db, tenantId, (tx) => listAssets(tx, tenantId, { filter, page }));
  const provider = filter.providerId ?? null;
  const rows = await db.run<AssetRow>(pageSql, [
    tenantId,
    provider,
    page.afterId ?? null,
    page.limit + 1,
    page.offset ?? 0,
  ]);
  const [counted] = await db.run<{ n: number }>(countSql, [tenantId, provider]);
  const total = counted?.n ?? 0;
  return {
    assets: rows.slice(0, page.limit).map(toAsset),
    hasMore: rows.length > page.limit,
    total: Math.min(total, COUNTED),
    totalRelation: total > COUNTED ? "gte" : "eq",
  };
}

function toAsset(row: AssetRow): Asset {
  return {
    id: row.id,
    provider_id: row.provider_id,
    path: row.path,
    size: Number(row.size),
    sha256: row.sha256,
    media_type: row.media_type,
    modified_at: row.modified_at.toISOString(),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
