import type { Database } from "@/lib/db";
import { dropRunningMarkSql, runningMarkFloorSql, setRunningMarkSql } from "./record-running-jobs.sql";

/**
 * Records the running jobs that were claimed at least ten seconds ago. Counts under limits then read only this list and
 * later claims. For use while an old snapshot makes the counts scan the dead index entries of all jobs that ran. Counts
 * stay exact, however old the list is. No-op if there are no limits.
 */
export async function recordRunningJobs(db: Database): Promise<void> {
  const [floor] = await db.run<{ at: Date | null }>(runningMarkFloorSql);
  if (floor?.at) await db.run(setRunningMarkSql, [floor.at]);
}

/** Drops the list: counts under limits read all running jobs again. */
export const dropRunningJobsList = async (db: Database): Promise<void> => void (await db.run(dropRunningMarkSql));
