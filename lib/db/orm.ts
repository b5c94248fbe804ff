import { count, getTableColumns, type SQL, sql } from "drizzle-orm";
import { type NodePgClient, NodePgDatabase, NodePgSession } from "drizzle-orm/node-postgres";
import { PgDialect, type PgTable } from "drizzle-orm/pg-core";
import type { QueryResult } from "pg";
import { DatabaseError } from "./errors";
import type { TenantTransaction } from "./types";

/** Sends one query built by drizzle. @throws DatabaseError */
export type OrmQuery = (config: { text: string }, values: unknown[]) => Promise<QueryResult>;

/**
 * Builds drizzle over a function that sends queries; failures are DatabaseErrors. By default, drizzle wraps each
 * failure in an error whose message holds the SQL and its values. It would also open transactions that skip our begin,
 * rollback and release.
 */
export function ormOver(query: OrmQuery): NodePgDatabase {
  const dialect = new PgDialect();
  const session = new NodePgSession<Record<string, never>, Record<string, never>>(
    { query } as unknown as NodePgClient,
    dialect,
    undefined,
  );
  const prepare = session.prepareQuery.bind(session);
  session.prepareQuery = ((...args: Parameters<typeof prepare>) =>
    Object.assign(prepare(...args), { queryWithCache: sendOnly })) as typeof session.prepareQuery;
  session.transaction = () =>
    Promise.reject(new DatabaseError({ kind: "other", serverMessage: "use Database.transaction" }));
  return new NodePgDatabase(dialect, session as never, undefined);
}

const sendOnly = (_text: string, _values: unknown[], send: () => Promise<unknown>) => send();

/** Returns some columns of a table under their names, for `select` and `returning`. */
export function columnsOf<T extends PgTable, N extends keyof T["_"]["columns"] & string>(
  table: T,
  ...names: readonly N[]
): Pick<T["_"]["columns"], N> {
  const all = getTableColumns(table) as T["_"]["columns"];
  return Object.fromEntries(names.map((name) => [name, all[name]])) as Pick<T["_"]["columns"], N>;
}

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
