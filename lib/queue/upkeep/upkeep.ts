/**
 * Upkeep: periodic work on rows, which the leader does (all its loops: scheduler/loops.ts). It promotes due jobs,
 * expires overdue ones, folds statistics, makes partitions, deletes expired rows and prunes dead workers.
 * Sweeps take bounded batches, skip locked rows and are safe to run concurrently. Without a leader, workers promote and
 * expire jobs. snapshots.ts lists transactions that keep vacuum from removing dead rows.
 * Start with `deleteExpired` here, then read `promoteDueJobs` and `expireJobs` in promote-due-jobs.ts.
 */
import type { Runner } from "@/lib/db";
import { deleteOldBulkActionsSql } from "../actions/bulk-actions.sql";
import { deleteOldEventsSql } from "../events/events.sql";
import {
  deleteOldAnswersSql,
  deleteOldDeliveriesSql,
  deleteOldFiringsSql,
  deleteOldKeysSql,
  deleteOldSessionsSql,
  deleteOldTriggersSql,
  foldStatDeltasSql,
  makeDaysSql,
  partitionProblemsSql,
  pruneWorkersSql,
} from "./upkeep.sql";

const FOLD_ROWS = 5000;
const DELETE_ROWS = 1000;

const count = async (rows: Promise<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0;

/** Folds one batch of deltas into the figures and returns its size (0 = none were left). */
export const foldStatDeltas = (db: Runner): Promise<number> => count(db.run(foldStatDeltasSql, [FOLD_ROWS]));

export interface MadeDays {
  readonly made: number;
  /** Rows moved from the DEFAULT partitions to the partition of their day. */
  readonly moved: number;
  /** Days whose partitions could not be made, with the reason. The other partitions were made. */
  readonly failed: readonly string[];
}

/**
 * Makes the partitions of the next seven days and of every day that has rows in a DEFAULT partition.
 * @throws DatabaseError of kind timeout if the lock is not free within half a second: try again later
 */
export async function makeDays(db: Runner): Promise<MadeDays> {
  return (await db.run<MadeDays>(makeDaysSql))[0] ?? { made: 0, moved: 0, failed: [] };
}

/**
 * Returns why the partitions need an operator, or null: a missing day (today, tomorrow), or rows in a
 * DEFAULT partition.
 */
export async function partitionProblem(db: Runner): Promise<string | null> {
  const [row] = await db.run<{ missing_days: number; stray_rows: number }>(partitionProblemsSql);
  if (!row) return null;
  if (row.missing_days > 0) return `${row.missing_days} partitions of today and tomorrow are missing`;
  return row.stray_rows > 0 ? `${row.stray_rows} rows lie in a DEFAULT partition` : null;
}

/**
 * Deletes expired rows in bounded batches and returns their number: idempotent responses, sessions and dedupe keys that
 * cannot be used any longer; bulk actions, deliveries and events after a month; firings and deleted triggers after
 * three months. Skips rows that another transaction has locked.
 */
export async function deleteExpired(db: Runner): Promise<number> {
  const answers = await db.run(deleteOldAnswersSql, [DELETE_ROWS]);
  const sessions = await db.run(deleteOldSessionsSql, [DELETE_ROWS]);
  const actions = await db.run(deleteOldBulkActionsSql, [DELETE_ROWS]);
  const deliveries = await db.run(deleteOldDeliveriesSql, [DELETE_ROWS]);
  const events = await db.run(deleteOldEventsSql, [DELETE_ROWS]);
  const firings = await db.run(deleteOldFiringsSql, [DELETE_ROWS]);
  const triggers = await db.run(deleteOldTriggersSql, [DELETE_ROWS]);
  // Deleted last, so that an enqueue that needs one of these keys waits only for the commit.
  const keys = await db.run(deleteOldKeysSql, [DELETE_ROWS]);
  return [answers, sessions, actions, deliveries, events, firings, triggers, keys].reduce(
    (sum, rows) => sum + rows.length,
    0,
  );
}

/**
 * Prunes a bounded batch of workers without a heartbeat for a day and returns their number. Their jobs have
 * their own leases.
 */
export const pruneWorkers = async (db: Runner): Promise<number> =>
  (await db.run(pruneWorkersSql, [DELETE_ROWS])).length;
