/**
 * Leases: renewing them while an attempt runs, and rescuing jobs whose lease expired.
 * Writes of an attempt are fenced by its lease number, so a worker that lost its lease cannot change the job. An
 * expired lease becomes a lost attempt, which is retried or ends the job. A late renewal still succeeds as long as the
 * job was not rescued.
 * Start with `extendLeases` here, then read `rescueExpiredLeases` in `rescue-expired-leases.ts`.
 */
import type { Runner, TenantTransaction } from "@/lib/db";
import type { Lease, LogChunk } from "../attempts/types";
import { cleanText, cutText } from "../clean.policy";
import { LeaseLostError } from "../errors";
import {
  appendLogsSql,
  canceledAttemptsSql,
  extendLeasesSql,
  holdLeaseSql,
  recordProcessSql,
  reportProgressSql,
} from "./hold-leases.sql";

/** Charged to an attempt's log for each stored line beside its text, so that empty lines count towards the limit. */
export const LOG_LINE_BYTES = 100;

export interface ExtendedLeases {
  readonly renewed: readonly { readonly jobId: string; readonly leaseExpiresAt: Date }[];
  /** Rescued by another process, or ended: stop the work and drop the result. */
  readonly lost: readonly string[];
  /** Locked by another transaction at the moment: ask again within a second. */
  readonly locked: readonly string[];
  readonly cancelRequested: readonly string[];
}

interface ExtendedRow {
  job_id: string;
  lease_expires_at: Date | null;
  cancel_requested: boolean;
}

/** Renews the leases that are still held. An expired lease is renewed too, as long as the job was not rescued. */
export async function extendLeases(
  db: Runner,
  leases: readonly (Lease & { readonly leaseSeconds: number })[],
): Promise<ExtendedLeases> {
  if (leases.length === 0) return { renewed: [], lost: [], locked: [], cancelRequested: [] };
  const rows = await db.run<ExtendedRow>(extendLeasesSql, [
    leases.map((lease) => lease.jobId),
    leases.map((lease) => lease.leaseNo),
    leases.map((lease) => lease.leaseSeconds),
  ]);
  const renewed = rows.flatMap((row) =>
    row.lease_expires_at ? [{ jobId: row.job_id, leaseExpiresAt: row.lease_expires_at }] : [],
  );
  const isRenewed = new Set(renewed.map(({ jobId }) => jobId));
  const isLeased = new Set(rows.map((row) => row.job_id));
  const others = leases.map(({ jobId }) => jobId).filter((jobId) => !isRenewed.has(jobId));
  return {
    renewed,
    lost: others.filter((jobId) => !isLeased.has(jobId)),
    locked: others.filter((jobId) => isLeased.has(jobId)),
    cancelRequested: rows.filter((row) => row.cancel_requested).map((row) => row.job_id),
  };
}

/**
 * Keeps the lease from being rescued until COMMIT. Run it last in a transaction that writes a job's results.
 * @throws LeaseLostError if the lease is lost, so that the transaction rolls back
 */
export async function holdLease(tx: TenantTransaction, lease: Lease): Promise<void> {
  const rows = await tx.run(holdLeaseSql, [lease.jobId, lease.leaseNo]);
  if (rows.length === 0) throw new LeaseLostError();
}

/** Stores the progress of an attempt (0–100). Returns false if the lease is lost. */
export async function reportProgress(
  db: Runner,
  lease: Lease,
  progress: { readonly percent: number; readonly message?: string | null },
): Promise<boolean> {
  const percent = Math.round(Math.min(100, Math.max(0, Number.isFinite(progress.percent) ? progress.percent : 0)));
  const message = progress.message ? cutText(cleanText(progress.message), 500) : null;
  return (await db.run(reportProgressSql, [lease.jobId, lease.leaseNo, percent, message])).length > 0;
}

/** Stores the id of an attempt's process. Returns false if the lease is lost. */
export const recordProcess = async (db: Runner, lease: Lease, pid: number): Promise<boolean> =>
  (await db.run(recordProcessSql, [lease.jobId, lease.leaseNo, pid])).length > 0;

/** Stores output of an attempt. Returns false if the lease is lost; nothing is stored then. */
export async function appendLogs(db: Runner, lease: Lease, chunks: readonly LogChunk[]): Promise<boolean> {
  if (chunks.length === 0) return true;
  const clean = chunks.map((chunk) => ({ ...chunk, body: cleanText(chunk.body) }));
  return (await db.run(appendLogsSql, [lease.jobId, lease.leaseNo, JSON.stringify(clean)])).length > 0;
}

/** Returns a worker's leases whose jobs have a cancel request. */
export async function canceledAttempts(db: Runner, workerId: string): Promise<Lease[]> {
  const rows = await db.run<{ job_id: string; lease_no: number }>(canceledAttemptsSql, [workerId]);
  return rows.map((row) => ({ jobId: row.job_id, leaseNo: row.lease_no }));
}
