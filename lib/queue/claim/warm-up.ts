import type { Database, Runner, Statement } from "@/lib/db";
import { markBegunSql } from "../attempts/begin-attempts.sql";
import { finishPlainSql } from "../attempts/settle-attempts.sql";
import { extendLeasesSql } from "../leases/hold-leases.sql";
import { claimJobsSql, startAttemptsSql } from "./claim-jobs.sql";

const NOBODY = "";
/** The statements that a short job needs, with empty arguments. */
const STATEMENTS: readonly (readonly [Statement, readonly unknown[]])[] = [
  [claimJobsSql, [[], [], 0, NOBODY, [], [], 0, null]],
  [startAttemptsSql, ["{}", "{}", "{}"]],
  [markBegunSql, [NOBODY, 0, "{}", 0]],
  [finishPlainSql, ["{}", "{}", "{}", "{}"]],
];

/**
 * Opens `connections` connections and plans the statements of short jobs on each, so a worker's first jobs wait for
 * neither. Changes no data.
 */
export async function warmUp(db: Database, connections: number): Promise<void> {
  const planAll = () =>
    db.transaction(async (tx) => {
      for (const [statement, values] of STATEMENTS) await tx.run(statement, values);
    });
  await Promise.all(Array.from({ length: connections }, planAll));
}

/** Opens a connection if there is none and plans the renewal of leases on it. Changes no data. */
export async function warmUpRenewal(db: Runner): Promise<void> {
  await db.run(extendLeasesSql, [[], [], []]);
}
