/*
 * Migrations: creates the roles and the schema, or brings them up to date. Numbered files are applied once, in order,
 * each in a transaction with its ledger row. Function files are applied whenever their text has changed. Any number of
 * processes may migrate at once. No other session waits much longer than half a second for a migration's locks.
 *
 * Start with `migrate` below, then `ledger.ts` (what is pending), `roles.ts` (roles and their settings) and
 * `lock-patience.ts` (how locks are taken).
 */

import pg from "pg";
import { ADVISORY_LOCKS } from "../schema/advisory-locks";
import { readSchemaFiles, type SchemaFiles, type SqlFile } from "./files";
import { type Applied, applyFailure, LEDGERS, pendingFunctions, pendingMigrations } from "./ledger";
import { isLockTimeout, LOCK_PATIENCE_MS, LOCK_TIMEOUT, withoutQueueing } from "./lock-patience";
import { makeDaysOnce } from "./make-days";
import { MigrationError } from "./migration-error";
import { ensureRoles, type RolePasswords } from "./roles";

export { MigrationError, type MigrationFailure } from "./migration-error";

type Log = (line: string) => void;

export interface MigrateOptions {
  /** A login that owns the database and may create roles. Works over a direct connection or a pooler. */
  readonly adminUrl: string;
  readonly secret: string;
  /** Passwords of roles that do not use the derived one. */
  readonly rolePasswords?: RolePasswords;
  readonly log: Log;
  /** The folder with `migrations/` and `functions/`; default `drizzle` under the working directory. */
  readonly folder?: string;
  /** How long to retry for locks held by other sessions; default ten minutes. */
  readonly lockPatienceMs?: number;
}

const CONNECT_TIMEOUT_MS = 4000;

// A server that runs one long statement notices a killed client only if it polls for that, and would otherwise hold the
// lock until the statement ends. Windows servers cannot poll.
const NOTICE_DEATH = `select set_config('client_connection_check_interval', '1000', true)
  where version() !~* 'windows|mingw|visual c'`;

/**
 * Creates roles and schema, or brings them up to date. First applies the numbered files, each in one transaction with
 * its ledger row. Then applies all function files whose text has changed, in one transaction. Safe to run from any
 * number of processes at once: each file is applied by exactly one.
 * @returns the names of the files that this call applied
 * @throws MigrationError; nothing of the failed file is stored
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const files = readSchemaFiles(options.folder);
  const client = await connect(options.adminUrl);
  try {
    await ensureRoles(client, options);
    const applied = await applyAll(client, files, options);
    await makeDaysOnce(client, options.log);
    return { applied };
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Creates only the roles, and grants them the right to connect. A server needs this before a dump is restored on it.
 * The database stays empty.
 * @throws MigrationError
 */
export async function makeRoles(options: Omit<MigrateOptions, "log">): Promise<void> {
  const client = await connect(options.adminUrl);
  try {
    await ensureRoles(client, options);
  } finally {
    await client.end().catch(() => {});
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "leasehold migrate",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    throw new MigrationError(
      "unreachable",
      `The database cannot be reached: ${(error as Error).message || String(error)}`,
      error,
    );
  }
  return client;
}

async function applyAll(
  client: pg.Client,
  files: SchemaFiles,
  { log, lockPatienceMs = LOCK_PATIENCE_MS }: MigrateOptions,
): Promise<string[]> {
  const applied: string[] = [];
  for (;;) {
    const done = await withoutQueueing(client, lockPatienceMs, log, () => applyNext(client, files, log));
    if (done.length === 0) return applied;
    for (const name of done) log(`applied ${name}`);
    applied.push(...done);
  }
}

/**
 * Applies the first pending numbered file, or else all changed function files. Reads the ledger each time, because
 * another process may have applied some.
 */
async function applyNext(client: pg.Client, files: SchemaFiles, log: Log): Promise<string[]> {
  await client.query("begin");
  try {
    await client.query(NOTICE_DEATH);
    await takeLock(client, log);
    // Set after the wait for other migrating processes, because nothing else queues behind that wait.
    await client.query(LOCK_TIMEOUT);
    await client.query("set local role leasehold_owner");
    const [next] = pendingMigrations(files.migrations, await readLedger(client, MIGRATIONS));
    const done = next ? [await applyMigration(client, next)] : await applyFunctions(client, files.functions);
    await client.query("commit");
    return done;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error instanceof MigrationError || isLockTimeout(error)
      ? error
      : new MigrationError("failed", `Migration failed: ${(error as Error).message}`, error);
  }
}

// The lock ends with its transaction. So a process that dies leaves no lock, and a pooler in transaction mode is safe.
async function takeLock(client: pg.Client, log: Log): Promise<void> {
  const { rows } = await client.query<{ free: boolean }>(
    `select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.migration}) as free`,
  );
  if (rows[0]?.free) return;
  log("waiting for another migration");
  await client.query(`select pg_advisory_xact_lock(${ADVISORY_LOCKS.migration})`);
}

const MIGRATIONS = { table: "app.schema_migrations", order: "name" };
const FUNCTIONS = { table: "app.schema_functions", order: "number" };

async function readLedger(client: pg.Client, { table, order }: typeof MIGRATIONS): Promise<Applied[]> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass($1) is not null as exists", [table]);
  if (!rows[0]?.exists) return [];
  return (await client.query<Applied>(`select name, sha256 from ${table} order by ${order}`)).rows;
}

async function applyMigration(client: pg.Client, file: SqlFile): Promise<string> {
  await apply(client, file);
  try {
    // Here and not before, because the first file creates the schema of the ledgers.
    await client.query(LEDGERS);
  } catch (error) {
    throw applyFailure(file, error);
  }
  await client.query("insert into app.schema_migrations (name, sha256) values ($1, $2)", [file.name, file.sha256]);
  return file.name;
}

async function applyFunctions(client: pg.Client, files: readonly SqlFile[]): Promise<string[]> {
  const changed = pendingFunctions(files, await readLedger(client, FUNCTIONS));
  // Functions call each other across files, in any order.
  if (changed.length > 0) await client.query("set local check_function_bodies = off");
  for (const file of changed) {
    await apply(client, { ...file, name: `functions/${file.name}` });
    await client.query("insert into app.schema_functions (name, sha256) values ($1, $2)", [file.name, file.sha256]);
  }
  return changed.map(({ name }) => `functions/${name}`);
}

async function apply(client: pg.Client, file: SqlFile): Promise<void> {
  try {
    await client.query(file.sql);
  } catch (error) {
    throw isLockTimeout(error) ? error : applyFailure(file, error);
  }
}
