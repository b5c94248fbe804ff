import type { Runner, Transaction } from "@/lib/db";
import { TermLostError } from "../errors";
import { deleteOldBulkActionsSql } from "../sql/bulk-actions";
import { deleteOldEventsSql } from "../sql/events";
import {
  beatTermSql,
  defaultPartitionRowsSql,
  deleteOldAnswersSql,
  deleteOldDeliveriesSql,
  deleteOldFiringsSql,
  deleteOldSessionsSql,
  deleteOldTriggersSql,
  ensurePartitionsSql,
  foldStatDeltasSql,
  keepTermSql,
  pruneWorkersSql,
} from "../sql/upkeep";

const FOLD_ROWS = 5000;
const DELETE_ROWS = 1000;

const count = async (rows: Promise<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0;

/** Folds one part of the waiting deltas into the figures; returns how many (0 = none were left). */
export const foldStatDeltas = (db: Runner): Promise<number> => count(db.run(foldStatDeltasSql, [FOLD_ROWS]));

/** Makes the partitions of the next seven days; returns how many were new. */
export const ensurePartitions = (db: Runner): Promise<number> => count(db.run(ensurePartitionsSql));

/** Rows in the DEFAULT partitions: anything but 0 means that a day was missing and wants an operator. */
export const countDefaultPartitionRows = (db: Runner): Promise<number> => count(db.run(defaultPartitionRowsSql));

/**
 * Deletes answers and sessions that nobody can use any more and bulk actions, deliveries and events of a month ago,
 * and firings and deleted triggers of three months ago, a bounded part at a time; returns how many.
 */
export async function deleteExpired(db: Runner): Promise<number> {
  const answers = await db.run(deleteOldAnswersSql, [DELETE_ROWS]);
  const sessions = await db.run(deleteOldSessionsSql);
  const actions = await db.run(deleteOldBulkActionsSql, [DELETE_ROWS]);
  const deliveries = await db.run(deleteOldDeliveriesSql, [DELETE_ROWS]);
  const events = await db.run(deleteOldEventsSql, [DELETE_ROWS]);
  const firings = await db.run(deleteOldFiringsSql, [DELETE_ROWS]);
  const triggers = await db.run(deleteOldTriggersSql, [DELETE_ROWS]);
  return [answers, sessions, actions, deliveries, events, firings, triggers].reduce(
    (sum, rows) => sum + rows.length,
    0,
  );
}

/** Forgets workers that have been silent for a day. Their jobs do not depend on it: a lease is per job. */
export const pruneWorkers = async (db: Runner): Promise<number> => (await db.run(pruneWorkersSql)).length;

/**
 * The first statement of each transaction of a leader; also keeps the term from changing until COMMIT.
 * @throws TermLostError when another one leads
 */
export async function keepTerm(
  tx: Transaction,
  leader: { readonly leaderId: string; readonly term: number },
): Promise<void> {
  const rows = await tx.run(keepTermSql, [leader.leaderId, leader.term]);
  if (rows.length === 0) throw new TermLostError();
}

/** The leader's sign of life, about once a second. @throws TermLostError when another one leads */
export async function beatTerm(
  db: Runner,
  leader: { readonly leaderId: string; readonly term: number },
): Promise<void> {
  const rows = await db.run(beatTermSql, [leader.leaderId, leader.term]);
  if (rows.length === 0) throw new TermLostError();
}
