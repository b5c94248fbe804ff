import type pg from "pg";
import { jitter, waitMs } from "../pause";
import { MigrationError } from "./migration-error";

/** Ten minutes: longer than the backup of a typical installation, and than a forgotten session should live. */
export const LOCK_PATIENCE_MS = 600_000;
/** Every other session queues behind a pending lock request, so no single wait is longer than this. */
export const LOCK_TIMEOUT = "set local lock_timeout = '500ms'";
/** Pause between two attempts, so that the sessions queued behind the first attempt get their turn. */
const PAUSE_MS = 1500;

export const isLockTimeout = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === "55P03";

/**
 * Repeats `work`, a transaction that sets {@link LOCK_TIMEOUT}, until it gets its locks. Each failed attempt releases
 * the locks it had, so no other session waits much longer than half a second.
 * @throws MigrationError when the locks are not free within `patienceMs`; its message names the oldest transactions
 */
export async function withoutQueueing<T>(
  client: pg.Client,
  patienceMs: number,
  log: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + patienceMs;
  for (let logged = false; ; logged = true) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const holders = await oldestTransactions(client);
      if (performance.now() > giveUpAt) {
        throw new MigrationError(
          "failed",
          `A table stayed locked for ${Math.round(patienceMs / 1000)} s. Oldest transactions: ${holders}. ` +
            "End them (pg_terminate_backend) or wait, then migrate again. Nothing was changed by the file that waited.",
          error,
        );
      }
      if (!logged) log(`waiting for a lock; trying again every second or two. Oldest transactions: ${holders}`);
      await waitMs(jitter(PAUSE_MS));
    }
  }
}

async function oldestTransactions(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>(
    `select format('pid %s (%s, for %s s)', pid, coalesce(nullif(application_name, ''), 'no name'),
              round(extract(epoch from clock_timestamp() - xact_start))) as holder
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
     order by xact_start limit 3`,
  );
  return rows.map(({ holder }) => holder).join(", ") || "none visible to this login";
}
