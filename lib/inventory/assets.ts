import { and, desc, eq, lt } from "drizzle-orm";
import { assets } from "@/drizzle/schema";
import type { Asset } from "@/lib/contract";
import {
  columnsOf,
  countRows,
  type Database,
  ofTenant,
  type RowCount,
  type TenantTransaction,
  withTenant,
} from "@/lib/db";

export interface AssetFilter {
  readonly providerId?: string;
}

export interface AssetPageRequest {
  readonly limit: number;
  readonly offset?: number;
  /** The last id of the previous page; ids descend. */
  readonly afterId?: string;
}

export interface AssetPage extends RowCount {
  readonly assets: readonly Asset[];
  readonly hasMore: boolean;
}

const ASSET = columnsOf(
  assets,
  "id",
  "provider_id",
  "path",
  "size",
  "sha256",
  "media_type",
  "modified_at",
  "created_at",
  "updated_at",
);

/** Returns a page of a tenant's inventory, newest first. */
export async function listAssets(
  db: Database | TenantTransaction,
  tenantId: string,
  { filter, page }: { filter: AssetFilter; page: AssetPageRequest },
): Promise<AssetPage> {
  if (!("tenantId" in db)) return withTenant(db, tenantId, (tx) => listAssets(tx, tenantId, { filter, page }));
  const ofFilter = and(
    ofTenant(assets.tenant_id, tenantId),
    filter.providerId === undefined ? undefined : eq(assets.provider_id, filter.providerId),
  );
  const rows = await db.orm
    .select(ASSET)
    .from(assets)
    .where(page.afterId === undefined ? ofFilter : and(ofFilter, lt(assets.id, page.afterId)))
    .orderBy(desc(assets.id))
    .limit(page.limit + 1)
    .offset(page.offset ?? 0);
  return {
    assets: rows.slice(0, page.limit),
    hasMore: rows.length > page.limit,
    ...(await countRows(db, assets, ofFilter)),
  };
}
