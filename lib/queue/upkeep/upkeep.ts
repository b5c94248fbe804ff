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

/** Folds one part of the waiting deltas into the figures; returns how many (0 = none were left). */
export const foldStatDeltas = (db: Runner): Promise<number> => count(db.run(foldStatDeltasSql, [FOLD_ROWS]));

export interface MadeDays {
  readonly made: number;
  /** Rows moved from the DEFAULT partitions into the day they belong to. */
  readonly moved: number;
  /** Days that could not be made, with the reason; the others were made. */
  readonly failed: readonly string[];
}

/**
 * Makes the partitions of the next seven days and of every day that has rows in a DEFAULT partition.
 * @throws DatabaseError of kind timeout when the lock is not free within half a second: try again later
 */
export async function makeDays(db: Runner): Promise<MadeDays> {
  return (await db.run<MadeDays>(makeDaysSql))[0] ?? { made: 0, moved: 0, failed: [] };
}

/** Why the partitions need an operator, or null: a missing day (today, tomorrow), or rows in a DEFAULT partition. */
export async function partitionProblem(db: Runner): Promise<string | null> {
  const [row] = await db.run<{ missing_days: number; stray_rows: number }>(partitionProblemsSql);
  if (!row) return null;
  if (row.missing_days > 0) return `${row.missing_days} partitions of today and tomorrow are missing`;
  return row.stray_rows > 0 ? `${row.stray_rows} rows lie in a DEFAULT partition` : null;
}

/**
 * Deletes answers, sessions and dedupe keys that nobody can use any more and bulk actions, deliveries and events of a month ago,
 * and firings and deleted triggers of three months ago, a bounded part at a time; returns how many. Rows that another
 * transaction has locked are passed over.
 */
export async function deleteExpired(db: Runner): Promise<number> {
  const answers = await db.run(deleteOldAnswersSql, [DELETE_ROWS]);
  const sessions = await db.run(deleteOldSessionsSql, [DELETE_ROWS]);
  const actions = await db.run(deleteOldBulkActionsSql, [DELETE_ROWS]);
  const deliveries = await db.run(deleteOldDeliveriesSql, [DELETE_ROWS]);
  const events = await db.run(deleteOldEventsSql, [DELETE_ROWS]);
  const firings = await db.run(deleteOldFiringsSql, [DELETE_ROWS]);
  const triggers = await db.run(deleteOldTriggersSql, [DELETE_ROWS]);
  // Last, so that an enqueue that wants one of these keys waits for nothing but the commit.
  const keys = await db.run(deleteOldKeysSql, [DELETE_ROWS]);
  return [answers, sessions, actions, deliveries, events, firings, triggers, keys].reduce(
    (sum, rows) => sum + rows.length,
    0,
  );
}

/** Prunes a bounded part of the workers that have been silent for a day; returns how many. Jobs have leases of their own. */
export const pruneWorkers = async (db: Runner): Promise<number> =>
  (await db.run(pruneWorkersSql, [DELETE_ROWS])).length;
