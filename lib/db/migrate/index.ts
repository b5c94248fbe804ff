import pg from "pg";
import { type Migration, readMigrations } from "./files";
import { type Applied, applyFailure, pendingMigrations } from "./ledger";
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
  /** The folder of numbered SQL files; default `drizzle/migrations` under the working directory. */
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
 * Creates roles and schema, or brings them up to date. Safe from any number of processes at once: each file is applied
 * by exactly one, in one transaction with its ledger row. Throws {@link MigrationError} and then has changed nothing
 * of the file that failed.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const files = readMigrations(options.folder);
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
  files: readonly Migration[],
  { log, lockPatienceMs = LOCK_PATIENCE_MS }: MigrateOptions,
): Promise<string[]> {
  const applied: string[] = [];
  for (;;) {
    const done = await withoutQueueing(client, lockPatienceMs, log, () => applyNext(client, files, log));
    if (!done) return applied;
    log(`applied ${done}`);
    applied.push(done);
  }
}

/** Applies the first file that is missing, if any. Another process may have applied some since the last look. */
async function applyNext(client: pg.Client, files: readonly Migration[], log: Log): Promise<string | null> {
  await client.query("begin");
  try {
    await client.query(NOTICE_DEATH);
    await takeLock(client, log);
    // After the wait for other processes, behind which nothing else queues.
    await client.query(LOCK_TIMEOUT);
    await client.query("set local role leasehold_owner");
    const [next] = pendingMigrations(files, await readLedger(client));
    if (next) await apply(client, next);
    await client.query("commit");
    return next?.name ?? null;
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

async function readLedger(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    "select to_regclass('app.schema_migrations') is not null as exists",
  );
  if (!rows[0]?.exists) return [];
  return (await client.query<Applied>("select name, sha256 from app.schema_migrations order by name")).rows;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.sql);
    // The first file makes the schema that the ledger lies in.
    await client.query(LEDGER);
  } catch (error) {
    throw isLockTimeout(error) ? error : applyFailure(migration, error);
  }
  await client.query("insert into app.schema_migrations (name, sha256) values ($1, $2)", [
    migration.name,
    migration.sha256,
  ]);
}

const LEDGER = `
  create table if not exists app.schema_migrations (
    name text primary key,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz not null default clock_timestamp()
  );
  grant select on app.schema_migrations
    to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth`;
