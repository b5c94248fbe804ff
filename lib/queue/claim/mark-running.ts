import type { Database } from "@/lib/db";
import { dropRunningMarkSql, runningMarkFloorSql, setRunningMarkSql } from "./mark-running.sql";

/**
 * Lets counts under limits read only what was claimed in the last ten seconds, and what runs for longer. They stay exact
 * with any mark, however old. For the time while an old snapshot makes them read over the dead index entries of all jobs
 * that ran. Does nothing where there are no limits.
 */
export async function markRunning(db: Database): Promise<void> {
  const [floor] = await db.run<{ at: Date | null }>(runningMarkFloorSql);
  if (floor?.at) await db.run(setRunningMarkSql, [floor.at]);
}

/** Counts under limits read everything that runs again. */
export const unmarkRunning = async (db: Database): Promise<void> => void (await db.run(dropRunningMarkSql));
