import type { Runner, Transaction } from "@/lib/db";
import { TermLostError } from "../errors";
import { beatTermSql, hasLeaderSql, keepTermSql } from "./lead.sql";

/** True if a leader sent a heartbeat within the last ten seconds. */
export const hasLeader = async (db: Runner): Promise<boolean> =>
  (await db.run<{ leads: boolean }>(hasLeaderSql))[0]?.leads ?? false;

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
