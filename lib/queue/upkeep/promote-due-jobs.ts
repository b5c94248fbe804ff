import { bisect } from "@/lib/async/bisect";
import { type Database, DatabaseError, type Runner, type Transaction } from "@/lib/db";
import type { LookedTo } from "../lanes/whole-looks.policy";
import { lockTimeoutSql } from "../leases/rescue-expired-leases.sql";
import {
  dueToExpireSql,
  expireInTurnsSql,
  expireTheseSql,
  expireWaitingSql,
  promoteDueSql,
  promoteInTurnsSql,
} from "./promote-due-jobs.sql";

/** A row without a lane means that nothing was due. */
interface LaneCount {
  lane_no: number | null;
  n: number | null;
  looked_to: Date | null;
  /** Lanes of dependents that the ended jobs released. */
  released?: number[] | null;
}

/** A row of a statement that gives tenants turns; `looked_to` is the last of them. */
type TurnCount = Omit<LaneCount, "looked_to"> & { looked_to: string | null };

export interface Promoted {
  readonly laneNos: readonly number[];
  readonly count: number;
}

/** The jobs that a sweep considers. */
export interface DueBatch {
  readonly limit: number;
  /** Jobs that came due before this are left out; see `DueCursor`. */
  readonly from?: Date | undefined;
}

export interface Expired extends Promoted, LookedTo {
  /** Jobs that could not be ended this time, because a related row is locked or the database refuses their end. */
  readonly left: readonly string[];
}

/** The longest wait for a locked row, which delays the expiry of all other jobs. */
const LOCK_TIMEOUT = "200ms";
const BEGINNING = "-infinity";

/** Sorts before every tenant. */
const START = "00000000-0000-0000-0000-000000000000";
/** The tenants that had the last turns in this process. */
const served = { promote: START, expire: START };

const total = (rows: readonly Omit<LaneCount, "looked_to">[]): Promoted => ({
  laneNos: [...new Set([...rows.flatMap((row) => row.lane_no ?? []), ...(rows[0]?.released ?? [])])],
  count: rows.reduce((sum, row) => sum + (row.n ?? 0), 0),
});

const sumOf = (one: Promoted, other: Promoted): Promoted => ({
  laneNos: [...new Set([...one.laneNos, ...other.laneNos])],
  count: one.count + other.count,
});

/**
 * Makes due jobs claimable, oldest first. If more are due than the limit, as many again of tenants in turn, so that no
 * tenant waits until the jobs of another one are done. Safe for any number of concurrent callers.
 */
export async function promoteDueJobs(db: Runner, { limit, from }: DueBatch): Promise<Promoted & LookedTo> {
  const began = performance.now();
  const rows = await db.run<LaneCount>(promoteDueSql, [limit, from ?? BEGINNING]);
  const oldest = { lookedTo: rows[0]?.looked_to ?? null, tookMs: performance.now() - began };
  if (total(rows).count < limit) return { ...total(rows), ...oldest };
  const others = await db.run<TurnCount>(promoteInTurnsSql, [limit, served.promote]);
  served.promote = others[0]?.looked_to ?? START;
  return { ...sumOf(total(rows), total(others)), ...oldest };
}

/**
 * Ends jobs as expired whose expires_at passed while they waited, longest overdue first. If more are overdue than the
 * limit, ends as many again of tenants in turn. Skips locked jobs. A job whose end fails does not keep others from
 * ending: the batch is then split until that job is alone.
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
    if (whole) {
      const others = total(whole).count < limit ? total([]) : await expireInTurns(tx, limit);
      return { ...sumOf(total(whole), others), left: [], lookedTo: whole[0]?.looked_to ?? null, tookMs };
    }
    return { ...(await expireApart(tx, [limit, from])), lookedTo: null, tookMs };
  };
  return "inTransaction" in db ? expire(db) : db.transaction(expire);
}

/** Ends overdue jobs of tenants in turn; none if one of them cannot be ended. */
async function expireInTurns(tx: Transaction, limit: number): Promise<Promoted> {
  const rows = await tx
    .savepoint(() => tx.run<TurnCount>(expireInTurnsSql, [limit, served.expire]))
    .catch((error: unknown) => {
      if (!isOfOneJob(error)) throw error;
      return [];
    });
  served.expire = rows[0]?.looked_to ?? START;
  return total(rows);
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
