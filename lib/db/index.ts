/*
 * The only way to the database: pools per role, transactions, tenant scope, LISTEN, migrations, and the embedded
 * PostgreSQL. A failed query throws a `DatabaseError`, whose message holds neither SQL nor values. Values reach the
 * server only as parameters. A request reaches a tenant's rows only through `withTenant`; row security then admits that
 * tenant alone.
 *
 * Start with `types.ts` (what callers get), then `database.ts` (retries and transactions), `pool.ts` (connections) and
 * `tenant.ts`.
 */

export { openDatabase } from "./database";
export { keepsSessions } from "./direct-connection";
export { DatabaseError, type DatabaseErrorKind, isUnavailable } from "./errors";
export { claimHome, isRestoredCopy } from "./home";
export { currentLine, inLine, runInCommonLine, runInLine } from "./in-line";
export { type ListenOptions, listen, type NotifyListener } from "./listen";
export { type MigrateOptions, MigrationError, makeRoles, migrate } from "./migrate";
export { BEFORE_BASELINE_ADVICE } from "./migrate/ledger";
export { loginOf, roleName, roleUrl } from "./migrate/role-logins.mjs";
export { type SchemaStatus, schemaStatus } from "./migrate/status";
export { columnsOf, countRows, type RowCount } from "./orm";
export { PREPARED_LOST_ADVICE } from "./pool";
export { retryUndone } from "./retry";
export { unsafeLogin } from "./safe-login";
export { ADVISORY_LOCKS } from "./schema/advisory-locks";
export { openDatabaseSession, type Session } from "./session";
export { statement } from "./statement";
export { withTenant } from "./tenant";
export { ofTenant, tenantIs } from "./tenant-filter";
export {
  APPLICATION_ROLES,
  type ApplicationRole,
  type Database,
  type DatabaseRole,
  type OpenOptions,
  type PoolStats,
  type Row,
  type Runner,
  type Statement,
  type TenantTransaction,
  type Transaction,
  type TransactionOptions,
} from "./types";
