import pg from "pg";
import { readSchemaFiles, type SchemaFiles, type SqlFile } from "./files";
import { type Applied, applyFailure, LEDGERS, pendingFunctions, pendingMigrations } from "./ledger";
import { isLockTimeout, LOCK_PATIENCE_MS, LOCK_TIMEOUT, withoutQueueing } from "./lock-patience";
import { makeDays } from "./make-days";
import { MigrationError } from "./migration-error";
import { ensureRoles, type RolePasswords } from "./roles";

export { MigrationError, type MigrationFailure } from "./migration-error";

type Log = (line: string) => void;

export interface MigrateOptions {
  /** A login that may create roles and owns the database; a direct connection or a pooler, both will do. */
  readonly adminUrl: string;
  readonly secret: string;
  /** Passwords of roles that were given one of their own. */
  readonly rolePasswords?: RolePasswords;
  readonly log: Log;
  /** The folder with `migrations/` and `functions/`; default `drizzle` under the working directory. */
  readonly folder?: string;
  /** How long to keep trying for locks that other sessions hold; default ten minutes. */
  readonly lockPatienceMs?: number;
}

const CONNECT_TIMEOUT_MS = 4000;

// Held until the end of a transaction and never longer, so a process that dies leaves no lock, and a pooler that
// hands every transaction to another session does no harm.
const LOCK_KEY = "hashtextextended('leasehold.migrate', 0)";

// A server busy with one long statement learns only by looking that its client was killed, and would keep the lock
// until that statement ends. Windows servers cannot look.
const NOTICE_DEATH = `select set_config('client_connection_check_interval', '1000', true)
  where version() !~* 'windows|mingw|visual c'`;

/**
 * Creates roles and schema, or brings them up to date: first the numbered files, each in one transaction with its ledger
 * row, then in one transaction all files of functions whose text has changed. Safe from any number of processes at once: each
 * file is applied by exactly one. Returns the names of the files that this call applied. Throws {@link MigrationError} and
 * then has changed nothing of the file that failed.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const files = readSchemaFiles(options.folder);
  const client = await connect(options.adminUrl);
  try {
    await ensureRoles(client, options);
    const applied = await applyAll(client, files, options);
    await makeDays(client, options.log);
    return { applied };
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Creates the roles alone, and opens the database to them: what a server needs before a dump is restored on it. The
 * database stays empty. Throws {@link MigrationError}.
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
 * Applies the first numbered file that is missing, or else all changed functions. Another process may have applied some
 * since the last look.
 */
async function applyNext(client: pg.Client, files: SchemaFiles, log: Log): Promise<string[]> {
  await client.query("begin");
  try {
    await client.query(NOTICE_DEATH);
    await takeLock(client, log);
    // After the wait for other processes, behind which nothing else queues.
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

async function takeLock(client: pg.Client, log: Log): Promise<void> {
  const { rows } = await client.query<{ free: boolean }>(`select pg_try_advisory_xact_lock(${LOCK_KEY}) as free`);
  if (rows[0]?.free) return;
  log("waiting for another process that migrates");
  await client.query(`select pg_advisory_xact_lock(${LOCK_KEY})`);
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
    // The first file makes the schema that the ledgers lie in.
    await client.query(LEDGERS);
  } catch (error) {
    throw applyFailure(file, error);
  }
  await client.query("insert into app.schema_migrations (name, sha256) values ($1, $2)", [file.name, file.sha256]);
  return file.name;
}

async function applyFunctions(client: pg.Client, files: readonly SqlFile[]): Promise<string[]> {
  const changed = pendingFunctions(files, await readLedger(client, FUNCTIONS));
  // They call each other across files, in no order.
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
