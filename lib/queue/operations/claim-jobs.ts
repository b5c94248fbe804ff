import type { Runner } from "@/lib/db";
import { claimJobsSql, startAttemptsSql } from "../sql/claim-jobs";
import { readLeasesSql } from "../sql/settle-attempts";
import type { ClaimedJob, LaneRequest, Lease } from "../types-worker";

export interface ClaimRequest {
  readonly workerId: string;
  /** In the order in which they are asked. */
  readonly lanes: readonly LaneRequest[];
  /** At most this many in all. */
  readonly limit: number;
}

interface ClaimedRow {
  job_id: string;
  lease_no: number;
  tenant_id: string;
  lane_no: number;
  priority: number;
  run_no: number;
  attempts_spent: number;
  timeouts: number;
  snoozes: number;
  claimed_at: Date;
  lease_expires_at: Date;
  definition_id: string;
  definition_version: number;
  payload: unknown;
  max_attempts: number;
  timeout_seconds: number | null;
  retry_delay_seconds: number | null;
  retry_multiplier: number | null;
  correlation_id: string | null;
}

/** Takes ready jobs under leases of their own. No two claimers get the same job; jobs that are not ready cost nothing. */
export async function claimJobs(db: Runner, request: ClaimRequest): Promise<ClaimedJob[]> {
  const { lanes, limit, workerId } = request;
  if (lanes.length === 0 || limit < 1) return [];
  const rows = await db.run<ClaimedRow>(claimJobsSql, [
    lanes.map((lane) => lane.laneNo),
    lanes.map((lane) => lane.limit),
    limit,
    workerId,
    lanes.map((lane) => lane.leaseSeconds),
  ]);
  return rows.map(toClaimedJob);
}

/** Marks attempts as started, before their first side effect; returns the ids of the jobs that are still held. */
export async function startAttempts(db: Runner, leases: readonly Lease[]): Promise<string[]> {
  const started = new Set<string>();
  for (let asked = leases; asked.length > 0; ) {
    const rows = await db.run<{ job_id: string }>(startAttemptsSql, leaseArrays(asked));
    for (const row of rows) started.add(row.job_id);
    const missing = asked.filter(({ jobId }) => !started.has(jobId));
    // A row that somebody else changed in the moment of the statement was passed over: its lease is still held.
    asked = missing.length === 0 ? [] : await heldOf(db, missing);
  }
  return [...started];
}

async function heldOf(db: Runner, leases: readonly Lease[]): Promise<Lease[]> {
  const rows = await db.run<{ job_id: string }>(readLeasesSql, leaseArrays(leases));
  const held = new Set(rows.map((row) => row.job_id));
  return leases.filter(({ jobId }) => held.has(jobId));
}

/** Leases as the two parallel arrays that the fenced statements take. */
export function leaseArrays(leases: readonly Lease[]): [string[], number[]] {
  return [leases.map((lease) => lease.jobId), leases.map((lease) => lease.leaseNo)];
}

function toClaimedJob(row: ClaimedRow): ClaimedJob {
  return {
    jobId: row.job_id,
    leaseNo: Number(row.lease_no),
    tenantId: row.tenant_id,
    laneNo: row.lane_no,
    priority: row.priority,
    runNo: row.run_no,
    attemptsSpent: row.attempts_spent,
    timeouts: row.timeouts,
    snoozes: row.snoozes,
    claimedAt: row.claimed_at,
    leaseExpiresAt: row.lease_expires_at,
    definitionId: row.definition_id,
    definitionVersion: row.definition_version,
    payload: row.payload,
    maxAttempts: row.max_attempts,
    timeoutSeconds: row.timeout_seconds,
    retryDelaySeconds: row.retry_delay_seconds,
    retryMultiplier: row.retry_multiplier,
    correlationId: row.correlation_id,
  };
}
