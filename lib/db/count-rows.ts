import { count, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { TenantTransaction } from "./types";

/** No more rows are counted, so that the count of a long list stays cheap. */
const COUNTED = 10_000;

export interface RowCount {
  /** Exact up to 10,000; beyond that `total` is 10,000 and `totalRelation` is "gte". */
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

/** Counts the rows of a table that match, for the total of a paged list. */
export async function countRows(
  { orm }: Pick<TenantTransaction, "orm">,
  table: PgTable,
  matches: SQL | undefined,
): Promise<RowCount> {
  const row = sql<number>`1`.as("row");
  const counted = orm
    .select({ row })
    .from(table)
    .where(matches)
    .limit(COUNTED + 1)
    .as("counted");
  const [{ total } = { total: 0 }] = await orm.select({ total: count() }).from(counted);
  return { total: Math.min(total, COUNTED), totalRelation: total > COUNTED ? "gte" : "eq" };
}
