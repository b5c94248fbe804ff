import type { Runner } from "@/lib/db";
import { anyReleaseLeftSql, nextBlockedSql, sweepDependentsSql, workOffReleasesSql } from "./dependencies.sql";

/** Before every id. */
const START = "00000000-0000-0000-0000-000000000000";

export interface Swept {
  /** Where the next call goes on; undefined = begin anew. */
  readonly last: string | undefined;
  /** Jobs that were blocked although what they waited for was decided. Anything but 0 is a fault that was healed. */
  readonly healed: number;
  readonly laneNos: readonly number[];
}

/** Looks at a part of the blocked jobs and sets right those that nobody would release any more. Safe at any time. */
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

/** Where a sweep goes on that leaves the next blocked job out; undefined when there is none. */
export async function passOverBlocked(db: Runner, after = START): Promise<string | undefined> {
  return (await db.run<{ job_id: string }>(nextBlockedSql, [after]))[0]?.job_id;
}

export interface WorkedOff {
  /** Children that heard of an end; 0 = nothing is left, or all that is left is held by somebody just now. */
  readonly handled: number;
  readonly laneNos: readonly number[];
}

/** Whether jobs have ended of which not all children know; keeps an idle scheduler from opening transactions. */
export const hasReleasesLeft = async (db: Runner): Promise<boolean> =>
  (await db.run<{ is_left: boolean }>(anyReleaseLeftSql))[0]?.is_left === true;

/** Tells a bounded number of the children that the end of a job did not reach at once. Any number of callers may do it. */
export async function workOffReleases(db: Runner, { limit }: { readonly limit: number }): Promise<WorkedOff> {
  const [row] = await db.run<{ handled: number; lanes: number[] }>(workOffReleasesSql, [limit]);
  return { handled: row?.handled ?? 0, laneNos: row?.lanes ?? [] };
}
