import type { Runner, Transaction } from "@/lib/db";
import { TermLostError } from "../errors";
import { beatTermSql, hasLeaderSql, keepTermSql } from "./lead.sql";

/** Returns true if a leader sent a heartbeat within the last ten seconds. */
export const hasLeader = async (db: Runner): Promise<boolean> =>
  (await db.run<{ leads: boolean }>(hasLeaderSql))[0]?.leads ?? false;

/** A scheduler and the term in which it leads. */
export interface LeaderTerm {
  readonly leaderId: string;
  readonly term: number;
}

/**
 * Checks that the caller still leads, and keeps the term from changing until COMMIT. Run it as the first statement of
 * each transaction of a leader.
 * @throws TermLostError if another scheduler leads
 */
export async function keepTerm(tx: Transaction, leader: LeaderTerm): Promise<void> {
  const rows = await tx.run(keepTermSql, [leader.leaderId, leader.term]);
  if (rows.length === 0) throw new TermLostError();
}

/** Records the leader heartbeat, about once a second. @throws TermLostError if another scheduler leads */
export async function beatTerm(db: Runner, leader: LeaderTerm): Promise<void> {
  const rows = await db.run(beatTermSql, [leader.leaderId, leader.term]);
  if (rows.length === 0) throw new TermLostError();
}
