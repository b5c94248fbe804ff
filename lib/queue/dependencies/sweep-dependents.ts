import type { Runner } from "@/lib/db";
import { anyReleaseLeftSql, nextBlockedSql, sweepDependentsSql, workOffReleasesSql } from "./dependencies.sql";

/** Sorts before every id. */
const START = "00000000-0000-0000-0000-000000000000";

export interface Swept {
  /** Where the next call continues; undefined = start from the beginning. */
  readonly last: string | undefined;
  /**
   * Jobs that were blocked although they had no parent left to wait for. Any number but 0 is a fault, which the sweep
   * has healed.
   */
  readonly healed: number;
  readonly laneNos: readonly number[];
}

/** Reads a part of the blocked jobs, and releases or ends those that nothing else would release. Safe at any time. */
export async function sweepDependents(
  db: Runner,
  { after = START, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<Swept> {
  const [row] = await db.run<{ last: string | null; healed: number; lanes: number[] }>(sweepDependentsSql, [
    after,
    limit,
  ]);
  return { last: row?.last ?? undefined, healed: row?.healed ?? 0, laneNos: row?.lanes ?? [] };
}

/** Returns where a sweep continues if it skips the next blocked job; undefined if there is none. */
export async function passOverBlocked(db: Runner, after = START): Promise<string | undefined> {
  return (await db.run<{ job_id: string }>(nextBlockedSql, [after]))[0]?.job_id;
}

export interface WorkedOff {
  /** Children handled; 0 = the backlog is empty, or other transactions hold all that is left. */
  readonly handled: number;
  readonly laneNos: readonly number[];
}

/** True if the backlog has dependents to release. Keeps an idle scheduler from opening transactions. */
export const hasReleasesLeft = async (db: Runner): Promise<boolean> =>
  (await db.run<{ is_left: boolean }>(anyReleaseLeftSql))[0]?.is_left === true;

/** The tenant that had the last turn in this process. */
let lastServed = START;

/**
 * Releases a bounded number of dependents that the end of their parent left to the backlog. The tenants take turns.
 * Concurrent callers are safe.
 */
export async function workOffReleases(db: Runner, { limit }: { readonly limit: number }): Promise<WorkedOff> {
  const [row] = await db.run<{ handled: number; lanes: number[]; served: string }>(workOffReleasesSql, [
    limit,
    lastServed,
  ]);
  lastServed = row?.served ?? START;
  return { handled: row?.handled ?? 0, laneNos: row?.lanes ?? [] };
}
