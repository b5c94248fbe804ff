import { setTimeout } from "node:timers/promises";
import {
  BEFORE_BASELINE_ADVICE,
  claimHome,
  type Database,
  isRestoredCopy,
  isUnavailable,
  keepsSessions,
  PREPARED_LOST_ADVICE,
  schemaStatus,
  unsafeLogin,
} from "@/lib/db";
import type { Logger } from "@/lib/observability/log";
import { dataKeyFits } from "@/lib/tenancy/data-key";

const LOOK_AGAIN_MS = 500;
/** How long a migration by another process may take. */
const BEHIND_FOR_MS = 60_000;

/** Why a process must not work with its database. */
export interface Misfit {
  /** For /readyz, which is public. */
  readonly summary: string;
  /** For the operator: what is wrong, and what to do. */
  readonly advice: string;
  /** True if the process waits until this ends, instead of refusing to start. */
  readonly waits?: boolean;
}

const plain = (text: string): Misfit => ({ summary: text, advice: text });
const NEWER = plain("The database is newer than this version. Start the newer version instead.");
const BEFORE_BASELINE = plain(BEFORE_BASELINE_ADVICE);
const BEHIND = plain("The database is behind this version. Run `npm run db:migrate`.");
const PREPARED_LOST = plain(PREPARED_LOST_ADVICE);
const NO_SESSIONS = plain(
  "DATABASE_DIRECT_URL (or DATABASE_URL without it) leads to a pooler in transaction mode, on which LISTEN and session locks do " +
    "not last. Set DATABASE_DIRECT_URL to the PostgreSQL server itself.",
);
/** Nothing runs in a restored copy until an operator resumes it, because its jobs may have run since the backup. */
export const PAUSED: Misfit = {
  summary: "Paused: the database is a restored copy. Resume with `npm run db:migrate -- --resume`.",
  advice:
    "Paused: the database is a restored copy, whose jobs may have run and whose webhooks may have been sent since the backup. " +
    "Resume with `npm run db:migrate -- --resume`.",
  waits: true,
};
const OTHER_KEY: Misfit = {
  summary: "DATA_KEY is not the key that the secrets in the database are sealed with.",
  advice:
    "DATA_KEY is not the key that the secrets in the database are sealed with (unset, it derives from LEASEHOLD_SECRET). Set " +
    "DATA_KEY to the former key; or run `npm run db:migrate -- --new-data-key` with the new one, and rotate the secrets of webhooks.",
};

/** What a process needs to check against its database. */
export interface Needs {
  /** One pool for each role of the process; the first one reads the schema's version. */
  readonly pools: readonly [Database, ...Database[]];
  /** The connection for LISTEN and session locks. */
  readonly direct?: DirectConnection;
  /**
   * For a process that runs or schedules jobs, which is forbidden in a restored copy: its pool of the role for that.
   */
  readonly works?: Database;
  /** For a process that opens sealed secrets: the check value of its data key, and its pool of the worker role. */
  readonly dataKey?: { readonly check: Buffer; readonly worker: Database };
}

/** Checks once if the direct connection keeps its sessions; asks again only after an error. */
export class DirectConnection {
  #keeps: Promise<boolean> | undefined;

  constructor(private readonly url: string) {}

  keepsSessions(): Promise<boolean> {
    this.#keeps ??= keepsSessions(this.url).catch((error: unknown) => {
      this.#keeps = undefined;
      throw error;
    });
    return this.#keeps;
  }
}

/** Thrown when the process does not fit its database; the message says what to do. */
export class MisfitError extends Error {
  override readonly name = "MisfitError";
}

/**
 * Returns why the process must not work with this database, or null. The reasons: the schema has another version, a
 * login is a superuser or bypasses row security, the data key is another one, a pooler loses prepared statements or
 * sessions, or the process runs or schedules jobs and the database is a restored copy. `skipLogins` skips all pools but
 * the first one, for a process whose handlers may hold every connection of the others.
 * @throws DatabaseError when the database does not answer
 */
export async function misfit(
  { pools, direct, dataKey, works }: Needs,
  { skipLogins = false } = {},
): Promise<Misfit | null> {
  if (pools.some((pool) => pool.stats().preparedLost)) return PREPARED_LOST;
  const status = await schemaStatus(pools[0]);
  if (status === "newer") return NEWER;
  if (status === "before-baseline") return BEFORE_BASELINE;
  if (status === "behind") return BEHIND;
  const advice = (await Promise.all(skipLogins ? [] : pools.map(unsafeLogin))).find((problem) => problem !== null);
  if (advice) return { summary: "A database login is a superuser or bypasses row security.", advice };
  if (dataKey && !(await dataKeyFits(dataKey.worker, dataKey.check))) return OTHER_KEY;
  if (direct && !(await direct.keepsSessions())) return NO_SESSIONS;
  return works && (await isRestoredCopy(works)) ? PAUSED : null;
}

interface Wait {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** `pass` returns when the database does not answer, for a process whose /readyz asks again. Default `wait`. */
  readonly unreachable?: "wait" | "pass";
}

/**
 * Resolves when the process fits its database, or when the signal aborts. Waits indefinitely for a database that does
 * not answer or is paused, and up to a minute for one that is behind, because another process may be migrating it.
 * @throws MisfitError when the process does not fit
 */
export async function requireFit(needs: Needs, { log, signal, unreachable = "wait" }: Wait): Promise<void> {
  const deadline = performance.now() + BEHIND_FOR_MS;
  for (let last: string | undefined; !signal.aborted; ) {
    const found = await settle(needs).then(
      (problem) => ({ problem, error: null }),
      (error: unknown) => ({ problem: null, error }),
    );
    if (!found.problem && !found.error) return;
    if (found.problem && !found.problem.waits && (found.problem !== BEHIND || performance.now() > deadline)) {
      throw new MisfitError(found.problem.advice);
    }
    if (unreachable === "pass" && isUnavailable(found.error)) return;
    // A refused login (SQLSTATE 28P01) shows here: the secret differs from the one used by the migration.
    const status = found.problem?.advice ?? reasonOf(found.error);
    if (status !== last) log.warn({ status }, "waiting for the database");
    last = status;
    await setTimeout(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function settle(needs: Needs): Promise<Misfit | null> {
  const problem = await misfit(needs);
  if (!problem && needs.works) await claimHome(needs.works);
  return problem;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : "unreachable");
