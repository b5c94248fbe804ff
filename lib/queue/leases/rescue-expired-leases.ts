import type { Database, Transaction } from "@/lib/db";
import { takeFromWorkersSql } from "../attempts/begin-attempts.sql";
import { settleAttempts } from "../attempts/settle-attempts";
import type { AttemptEnd } from "../attempts/types";
import { leaseArrays } from "../claim/claim-jobs";
import { isCostly, WholeLooks } from "../lanes/whole-looks.policy";
import { decideAfterLostLease, type Random } from "../retry/retry.policy";
import { generalPolicy, type RetryColumns, retryOf } from "../retry/retry-levels.policy";
import type { RetrySettings } from "../types";
import {
  expiredLeasesSql,
  expiredOfTheseSql,
  leasesOverSoonSql,
  lockExpiredSql,
  lockTimeoutSql,
  postponeLeasesSql,
} from "./rescue-expired-leases.sql";

interface ExpiredRow extends RetryColumns {
  job_id: string;
  lease_no: number;
  tenant_id: string;
  lane_no: number;
  claimed_by_worker: string;
  attempts_spent: number;
  reclaims: number;
  cancel_requested: boolean;
  /** False if only the live row exists because the job's record was lost. */
  recorded: boolean;
  max_attempts: number;
  job_retry_delay_seconds: number | null;
  job_retry_multiplier: number | null;
  queue_retry_delay_seconds: number | null;
  queue_retry_multiplier: number | null;
  dead_letter: boolean;
}

export interface ExpiredLease {
  readonly job_id: string;
  readonly worker_id: string;
}

export interface Rescued {
  readonly laneNos: readonly number[];
  /** Jobs put back into the queue. */
  readonly rescued: number;
  /** Jobs that ended: attempts or reclaims used up, or a cancel was requested. */
  readonly ended: number;
  /** The first ten of those jobs with the workers that lost them, for the log. */
  readonly lost: readonly ExpiredLease[];
  /** Expired leases whose end the database refuses to store. They are tried again in a minute. */
  readonly unstorable: readonly string[];
}

const NONE: Rescued = { laneNos: [], rescued: 0, ended: 0, lost: [], unstorable: [] };
/** The longest wait for a lock on rows other than the live row. */
const LOCK_TIMEOUT = "200ms";
/** Keeps rows that cannot be rescued from being read each second and from filling the batch. */
const POSTPONE_SECONDS = 60;
/** Keeps the log line readable, because a dying worker may lose hundreds of jobs. */
const NAMED = 10;

/** The shortest lease that can be configured. */
const SHORTEST_LEASE_MS = 5000;
/** Longer than the interval between full scans, even if one is late. */
const SOON_SECONDS = 10;

/**
 * Records which leases may expire before the next full scan of running jobs, while that scan is costly.
 * A lease not on the list was given or renewed since. Full scans are at most as far apart as the shortest lease is
 * long, so no expired lease is found later than without the watch. Create one per process; it may be unused for a while.
 */
export class LeaseWatch {
  private readonly looks = new WholeLooks(SHORTEST_LEASE_MS);
  private soon: readonly string[] = [];

  /** True if a scan of all running jobs reads many dead index entries. */
  get isCostly(): boolean {
    return this.looks.isCostly;
  }

  /** Lists and locks up to `limit` jobs with an expired lease. */
  async expired(tx: Transaction, limit: number): Promise<ExpiredRow[]> {
    const began = performance.now();
    if (!this.looks.isDue(began))
      return this.soon.length === 0 ? [] : tx.run<ExpiredRow>(expiredOfTheseSql, [limit, this.soon]);
    const rows = await tx.run<ExpiredRow>(expiredLeasesSql, [limit]);
    const tookMs = performance.now() - began;
    this.soon = isCostly(tookMs) ? await overSoon(tx) : [];
    this.looks.took(tookMs, began);
    return rows;
  }
}

const overSoon = async (tx: Transaction): Promise<string[]> =>
  (await tx.run<{ job_id: string }>(leasesOverSoonSql, [SOON_SECONDS])).map((row) => row.job_id);

/**
 * Turns expired leases into lost attempts.
 * Each row is locked and checked again, and the write is fenced, so a job that was renewed, settled or claimed again in
 * between is not changed. Any number of rescuers may run at once. Rows that are locked or that the database refuses do
 * not keep other jobs from being rescued.
 */
export async function rescueExpiredLeases(
  db: Database | Transaction,
  { limit, watch, ...deciding }: { readonly limit: number; readonly watch?: LeaseWatch } & Deciding,
): Promise<Rescued> {
  const rescue = async (tx: Transaction): Promise<Rescued> => {
    await tx.run(lockTimeoutSql, [LOCK_TIMEOUT]);
    const expired = watch ? await watch.expired(tx, limit) : await tx.run<ExpiredRow>(expiredLeasesSql, [limit]);
    return expired.length === 0 ? NONE : settleLost(tx, expired, deciding);
  };
  return "inTransaction" in db ? rescue(db) : db.transaction(rescue);
}

interface Deciding {
  readonly random: Random;
  /** The installation's retry settings. */
  readonly retry?: RetrySettings | undefined;
}

async function settleLost(tx: Transaction, expired: readonly ExpiredRow[], deciding: Deciding): Promise<Rescued> {
  const leases = expired.map((row) => ({ jobId: row.job_id, leaseNo: Number(row.lease_no) }));
  const workers = [...new Set(expired.map((row) => row.claimed_by_worker))];
  const busy = new Set(
    (await tx.run<{ worker_id: string }>(takeFromWorkersSql, [workers])).map((row) => row.worker_id),
  );
  const rows = await tx.run<{ job_id: string; started: boolean }>(lockExpiredSql, leaseArrays(leases));
  const started = new Map(rows.map((row) => [row.job_id, row.started]));
  const lost = expired.filter((row) => started.has(row.job_id) && !busy.has(row.claimed_by_worker));
  const ends = lost.map((row) => toEnd(row, started.get(row.job_id) === true, deciding));
  const settled = await settleAttempts(tx, ends, true);
  const unstorable = leases.filter((lease) => settled.unstorable.includes(lease.jobId));
  if (unstorable.length > 0) await tx.run(postponeLeasesSql, [...leaseArrays(unstorable), POSTPONE_SECONDS]);
  const done = new Set([...settled.settled, ...settled.canceled]);
  const back = lost.filter((row) => done.has(row.job_id));
  const endedIds = new Set([...settled.canceled].concat(ends.filter((end) => end.outcome).map((end) => end.jobId)));
  const ended = back.filter((row) => endedIds.has(row.job_id)).length;
  const laneNos = [...new Set([...back.map((row) => row.lane_no), ...settled.releasedLanes])];
  const named = back.slice(0, NAMED).map((row) => ({ job_id: row.job_id, worker_id: row.claimed_by_worker }));
  return { laneNos, rescued: back.length - ended, ended, lost: named, unstorable: settled.unstorable };
}

function toEnd(row: ExpiredRow, started: boolean, { random, retry }: Deciding): AttemptEnd {
  const lost = {
    jobId: row.job_id,
    leaseNo: Number(row.lease_no),
    tenantId: row.tenant_id,
    status: "worker_lost" as const,
    spent: started,
    // Only a mark says that the attempt has begun, so it began at an unknown time after the claim.
    ...(started ? { beganAt: Number.NEGATIVE_INFINITY } : {}),
    errorType: "worker_lost",
    errorText: `The lease of ${row.claimed_by_worker} expired.`,
  };
  if (!row.recorded) {
    return { ...lost, outcome: "dead_letter", errorText: `${lost.errorText} The job's row is missing.` };
  }
  if (row.cancel_requested) return { ...lost, outcome: "canceled" };
  const decision = decideAfterLostLease(
    {
      started,
      attemptsSpent: row.attempts_spent,
      maxAttempts: row.max_attempts,
      reclaims: row.reclaims,
      deadLetter: row.dead_letter,
    },
    generalPolicy({
      job: { retryDelaySeconds: row.job_retry_delay_seconds, retryMultiplier: row.job_retry_multiplier },
      definition: retryOf(row),
      queue: { delay_seconds: row.queue_retry_delay_seconds, multiplier: row.queue_retry_multiplier },
      environment: retry,
    }),
    random,
  );
  return decision.outcome === "retry"
    ? { ...lost, retryInSeconds: decision.delaySeconds }
    : { ...lost, outcome: decision.outcome };
}
