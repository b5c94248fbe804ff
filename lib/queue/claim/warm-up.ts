import type { Database, Runner, Statement } from "@/lib/db";
import { markBegunSql } from "../attempts/begin-attempts.sql";
import { finishPlainSql } from "../attempts/settle-attempts.sql";
import { extendLeasesSql } from "../leases/hold-leases.sql";
import { claimJobsSql, startAttemptsSql } from "./claim-jobs.sql";

const NOBODY = "";
/** What the life of a short job takes, with nothing to do. */
const STATEMENTS: readonly (readonly [Statement, readonly unknown[]])[] = [
  [claimJobsSql, [[], [], 0, NOBODY, [], [], 0, null]],
  [startAttemptsSql, ["{}", "{}", "{}"]],
  [markBegunSql, [NOBODY, 0, "{}", 0]],
  [finishPlainSql, ["{}", "{}", "{}", "{}"]],
];

/**
 * Opens this many connections and has each plan the statements of short jobs, so that the first jobs of a worker wait
 * for none of it. Changes nothing.
 */
export async function warmUp(db: Database, connections: number): Promise<void> {
  const planAll = () =>
    db.transaction(async (tx) => {
      for (const [statement, values] of STATEMENTS) await tx.run(statement, values);
    });
  await Promise.all(Array.from({ length: connections }, planAll));
}

/** Opens a connection if there is none and has it plan the renewal of leases. Changes nothing. */
export async function warmUpRenewal(db: Runner): Promise<void> {
  await db.run(extendLeasesSql, [[], [], []]);
}
