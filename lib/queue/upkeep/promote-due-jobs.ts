import { bisect } from "@/lib/async/bisect";
import { type Database, DatabaseError, type Runner, type Transaction } from "@/lib/db";
import type { LookedTo } from "../lanes/whole-looks.policy";
import { lockTimeoutSql } from "../leases/rescue-expired-leases.sql";
import { dueToExpireSql, expireTheseSql, expireWaitingSql, promoteDueSql } from "./promote-due-jobs.sql";

/** Without a lane, nothing was due. */
interface LaneCount {
  lane_no: number | null;
  n: number | null;
  looked_to: Date | null;
  /** Lanes of jobs that waited for those that ended. */
  released?: number[] | null;
}

export interface Promoted {
  readonly laneNos: readonly number[];
  readonly count: number;
}

/** Which jobs a sweep looks at. */
export interface DueBatch {
  readonly limit: number;
  /** Those that came due before are left out; see `DueMark`. */
  readonly from?: Date | undefined;
}

export interface Expired extends Promoted, LookedTo {
  /** Jobs that could not be ended this time: somebody holds what belongs to them, or the database refuses their end. */
  readonly left: readonly string[];
}

/** What one held row may cost everybody else's expiry. */
const LOCK_TIMEOUT = "200ms";
const BEGINNING = "-infinity";

const total = (rows: readonly LaneCount[]): Promoted => ({
  laneNos: [...new Set([...rows.flatMap((row) => row.lane_no ?? []), ...(rows[0]?.released ?? [])])],
  count: rows.reduce((sum, row) => sum + (row.n ?? 0), 0),
});

/** Makes jobs claimable whose time has come, oldest first; safe for any number of callers at once. */
export async function promoteDueJobs(db: Runner, { limit, from }: DueBatch): Promise<Promoted & LookedTo> {
  const began = performance.now();
  const rows = await db.run<LaneCount>(promoteDueSql, [limit, from ?? BEGINNING]);
  return { ...total(rows), lookedTo: rows[0]?.looked_to ?? null, tookMs: performance.now() - began };
}

/**
 * Ends jobs as expired whose expires_at passed before an attempt of theirs began to run. Jobs that somebody holds are
 * passed over, and one whose end fails keeps none of the others from ending: then the jobs are taken one by one.
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

/** In halves, until what fails stands alone. */
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
