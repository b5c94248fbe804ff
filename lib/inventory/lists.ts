import { and, count, desc, isNull, lt } from "drizzle-orm";
import { lists } from "@/drizzle/schema";
import type { ImportedList } from "@/lib/contract";
import { columnsOf, type Database, ofTenant, type TenantTransaction, withTenant } from "@/lib/db";
import type { AssetPageRequest } from "./assets";

const LIST = columnsOf(lists, "id", "name", "columns", "row_count", "created_at", "updated_at");

export interface ListPage {
  readonly lists: readonly ImportedList[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq";
}

/**
 * Returns a page of the lists that imports filled, newest first. Leaves out lists whose first import has not finished.
 */
export async function listLists(
  db: Database | TenantTransaction,
  tenantId: string,
  page: AssetPageRequest,
): Promise<ListPage> {
  if (!("tenantId" in db)) return withTenant(db, tenantId, (tx) => listLists(tx, tenantId, page));
  const filled = and(ofTenant(lists.tenant_id, tenantId), isNull(lists.made_in));
  const rows = await db.orm
    .select(LIST)
    .from(lists)
    .where(page.afterId === undefined ? filled : and(filled, lt(lists.id, page.afterId)))
    .orderBy(desc(lists.id))
    .limit(page.limit + 1)
    .offset(page.offset ?? 0);
  const [{ total } = { total: 0 }] = await db.orm.select({ total: count() }).from(lists).where(filled);
  return {
    lists: rows.slice(0, page.limit),
    hasMore: rows.length > page.limit,
    total,
    totalRelation: "eq",
  };
}
