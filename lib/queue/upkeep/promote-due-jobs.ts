import { bisect } from "@/lib/async/bisect";
import { type Database, DatabaseError, type Runner, type Transaction } from "@/lib/db";
import type { LookedTo } from "../lanes/whole-looks.policy";
import { lockTimeoutSql } from "../leases/rescue-expired-leases.sql";
import { dueToExpireSql, expireTheseSql, expireWaitingSql, promoteDueSql } from "./promote-due-jobs.sql";

/** A row without a lane means that nothing was due. */
interface LaneCount {
  lane_no: number | null;
  n: number | null;
  looked_to: Date | null;
  /** Lanes of dependents that the ended jobs released. */
  released?: number[] | null;
}

export interface Promoted {
  readonly laneNos: readonly number[];
  readonly count: number;
}

/** The jobs that a sweep considers. */
export interface DueBatch {
  readonly limit: number;
  /** Jobs that came due before this are left out; see `DueMark`. */
  readonly from?: Date | undefined;
}

export interface Expired extends Promoted, LookedTo {
  /** Jobs that could not be ended this time, because a related row is locked or the database refuses their end. */
  readonly left: readonly string[];
}

/** The longest wait for a locked row, which delays the expiry of all other jobs. */
const LOCK_TIMEOUT = "200ms";
const BEGINNING = "-infinity";

const total = (rows: readonly LaneCount[]): Promoted => ({
  laneNos: [...new Set([...rows.flatMap((row) => row.lane_no ?? []), ...(rows[0]?.released ?? [])])],
  count: rows.reduce((sum, row) => sum + (row.n ?? 0), 0),
});

/** Makes due jobs claimable, oldest first. Safe for any number of concurrent callers. */
export async function promoteDueJobs(db: Runner, { limit, from }: DueBatch): Promise<Promoted & LookedTo> {
  const began = performance.now();
  const rows = await db.run<LaneCount>(promoteDueSql, [limit, from ?? BEGINNING]);
  return { ...total(rows), lookedTo: rows[0]?.looked_to ?? null, tookMs: performance.now() - began };
}

/**
 * Ends jobs as expired whose expires_at passed while they waited. Skips locked jobs. A job whose end fails does not
 * keep others from ending: the batch is then split until that job is alone.
 */
export function expireJobs(db: Database | Transaction, { limit, ...batch }: DueBatch): Promise<Expired> {
  const from = batch.from ?? BEGINNING;
  const expire = async (tx: Transaction): Promise<Expired> => {
    await tx.run(lockTimeoutSql, [LOCK_TIMEOUT]);
    const began = performance.now();
    const whole = await tx
      .savepoint(() => tx.run<LaneCount>(expireWaitingSql, [limit, from]))
      .catch((error: unknown) => {
        if (!isOfOneJob(error)) throw error;
        return null;
      });
    const tookMs = performance.now() - began;
    if (whole) return { ...total(whole), left: [], lookedTo: whole[0]?.looked_to ?? null, tookMs };
    return { ...(await expireApart(tx, [limit, from])), lookedTo: null, tookMs };
  };
  return "inTransaction" in db ? expire(db) : db.transaction(expire);
}

/** Splits the batch in halves until each failing job is alone. */
async function expireApart(tx: Transaction, batch: readonly unknown[]): Promise<Omit<Expired, keyof LookedTo>> {
  const due = await tx.run<{ job_id: string }>(dueToExpireSql, batch);
  const ids = due.map((row) => row.job_id);
  const left: string[] = [];
  const parts = await bisect(ids, {
    apply: async (some) => total(await tx.savepoint(() => tx.run<LaneCount>(expireTheseSql, [some]))),
    isOfOne: isOfOneJob,
    onRefused: (id) => {
      left.push(id);
      return total([]);
    },
  });
  const laneNos = [...new Set(parts.flatMap((part) => part.laneNos))];
  return { laneNos, count: parts.reduce((sum, { count }) => sum + count, 0), left };
}

const isOfOneJob = (error: unknown): boolean =>
  error instanceof DatabaseError && !error.connectionLost && error.kind !== "unavailable";
