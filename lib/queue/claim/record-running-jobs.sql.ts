import { statement } from "@/lib/db";

/** Returns the cutoff for the list of running jobs, or NULL if there are no limits. */
export const runningMarkFloorSql = statement("running_mark_floor", "select app.running_mark_floor() as at");

/**
 * Records the jobs claimed before the cutoff `$1` that still run. `$1` must have been read in an earlier transaction.
 * Counts of running jobs read this list and later claims, instead of scanning dead index entries that an old snapshot
 * keeps.
 */
export const setRunningMarkSql = statement(
  "set_running_mark",
  `insert into app.running_mark (at, jobs)
     select $1, array(select job_id from app.live_jobs where claimed_at < $1::timestamptz)
   on conflict (one) do update set at = excluded.at, jobs = excluded.jobs`,
);

export const dropRunningMarkSql = statement("drop_running_mark", "delete from app.running_mark");
