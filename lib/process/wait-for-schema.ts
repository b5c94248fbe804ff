import { setTimeout } from "node:timers/promises";
import { type Database, schemaStatus, unsafeLogin } from "@/lib/db";
import type { Logger } from "@/lib/observability/log";

const LOOK_AGAIN_MS = 500;
/** How long a migration that runs elsewhere may take. */
const BEHIND_FOR_MS = 60_000;

/** The database does not fit this version; the message says what to do. */
export class SchemaMismatchError extends Error {
  override readonly name = "SchemaMismatchError";
}

/** The login of a process may see the rows of all tenants; the message says what to do. */
export class UnsafeLoginError extends Error {
  override readonly name = "UnsafeLoginError";
}

/** @throws UnsafeLoginError when one of the logins is a superuser or bypasses row security */
export async function refuseUnsafeLogins(pools: readonly Database[]): Promise<void> {
  for (const problem of await Promise.all(pools.map(unsafeLogin))) {
    if (problem) throw new UnsafeLoginError(problem);
  }
}

/**
 * Resolves when the database has just the migrations of this version. Waits as long as it takes for a database that does
 * not answer, and up to a minute for one that somebody else may be migrating.
 * @throws SchemaMismatchError when it stays behind, or is newer than this version
 */
export async function waitForSchema(
  db: Database,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + BEHIND_FOR_MS;
  for (let last: string | undefined; !signal.aborted; ) {
    const status = await schemaStatus(db).catch((error: unknown) => reasonOf(error));
    if (status === "current") return;
    if (status === "newer") {
      throw new SchemaMismatchError("The database is newer than this version. Start the newer version instead.");
    }
    if (status === "behind" && performance.now() > deadline) {
      throw new SchemaMismatchError("The database is behind this version. Run `npm run db:migrate`.");
    }
    // A refused login (SQLSTATE 28P01) shows here: the secret is another one than that of the migration.
    if (status !== last) log.warn({ status }, "waiting for the database");
    last = status;
    await setTimeout(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : "unreachable");
