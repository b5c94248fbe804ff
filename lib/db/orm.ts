import { getTableColumns } from "drizzle-orm";
import { type NodePgClient, NodePgDatabase, NodePgSession } from "drizzle-orm/node-postgres";
import { PgDialect, type PgTable } from "drizzle-orm/pg-core";
import type { QueryResult } from "pg";
import { DatabaseError } from "./errors";

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
