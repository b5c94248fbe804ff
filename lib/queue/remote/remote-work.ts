/**
 * Remote workers: claiming and ending jobs for workers that connect over HTTP instead of to the database.
 * A remote worker gets only jobs of remote definitions within its scope, and can act only on leases that were given to
 * its own holder. The HTTP routes are the callers.
 * Start with `claimRemoteJobs` here; `RemoteLanes` in remote-lanes.ts finds the lanes to claim from.
 */
import type { Runner } from "@/lib/db";
import { givenBackEnd } from "../attempts/attempt-end.policy";
import type { AttemptEnd, ClaimedJob, Lease, WorkerRegistration } from "../attempts/types";
import { type ClaimedRow, claimFromLanes, startAttempts, toClaimedJob } from "../claim/claim-jobs";
import type { FairShare } from "../lanes/fairness.policy";
import { describeLanes } from "../lanes/poll-work";
import { WholeLooks } from "../lanes/whole-looks.policy";
import { MAX_RECLAIMS, type Random } from "../retry/retry.policy";
import type { AttemptStatus, TerminalState } from "../states";
import { countLeased, type RemoteLanes, type RemoteScope } from "./remote-lanes";
import {
  attemptLogBytesSql,
  endedRemoteAttemptSql,
  leasedRemoteAttemptSql,
  recordRemoteWorkerSql,
  releasesSql,
  remoteLaneFactsSql,
  seeRemoteWorkerSql,
} from "./remote-work.sql";

/** Polling interval for limited lanes, because there is no notification when a limit has room again. */
const RETRY_MS = 1000;
const SOONEST_RETRY_MS = 50;
/** Keeps a key from filling the list of workers. */
const WORKERS_PER_KEY = 500;

export interface RemoteClaim {
  readonly workerId: string;
  readonly scope: RemoteScope;
  readonly limit: number;
  /** The requested lease, capped by the definition's own. */
  readonly leaseSeconds: number | undefined;
  readonly share: FairShare;
  /** The lanes of the same scope. */
  readonly lanes: RemoteLanes;
}

export interface RemoteClaimed {
  readonly jobs: readonly ClaimedJob[];
  /** When to poll again for limited jobs; null = no job was limited. */
  readonly retryInMs: number | null;
}

/** Claims ready jobs of remote definitions within the scope. */
export async function claimRemoteJobs(db: Runner, claim: RemoteClaim, random: Random): Promise<RemoteClaimed> {
  const { scope, limit, workerId, share } = claim;
  const found = new Map((await claim.lanes.find(db, scope)).map((lane) => [lane.laneNo, lane]));
  const lanes = await describeLanes(db, [...found.keys()]);
  const known = new Map(lanes.map((lane) => [lane.laneNo, lane]));
  const asked = share.pick(lanes, { free: limit, mostOf: () => limit }, random).map(({ laneNo, limit: most }) => {
    const { leaseSeconds: own = 0, from } = found.get(laneNo) ?? {};
    const leaseSeconds = Math.min(claim.leaseSeconds ?? own, own);
    const request = { laneNo, limit: most, leaseSeconds, limited: known.get(laneNo)?.limited ?? true };
    return from === undefined ? request : { ...request, from };
  });
  const { jobs, limitedLanes } = await claimFromLanes(db, { workerId, lanes: asked, limit });
  share.charge(jobs.flatMap(({ laneNo }) => known.get(laneNo) ?? []));
  const waits = limitedLanes.map(({ retryInMs }) => Math.max(SOONEST_RETRY_MS, retryInMs ?? RETRY_MS));
  return { jobs, retryInMs: waits.length === 0 ? null : Math.min(RETRY_MS, ...waits) };
}

/** Tenant, definition and queue of a remote lane. They never change. */
export interface RemoteLane {
  readonly laneNo: number;
  readonly tenantId: string;
  readonly definitionKey: string;
  readonly queue: string;
}

/** Returns the lanes of remote definitions among these. */
export async function describeRemoteLanes(db: Runner, laneNos: readonly number[]): Promise<RemoteLane[]> {
  const rows = await db.run<{ lane_no: number; tenant_id: string; definition_key: string; queue: string }>(
    remoteLaneFactsSql,
    [laneNos],
  );
  return rows.map((row) => ({
    laneNo: row.lane_no,
    tenantId: row.tenant_id,
    definitionKey: row.definition_key,
    queue: row.queue,
  }));
}

/** A running attempt as found for its holder's next message, without the payload. */
export interface LeasedAttempt {
  readonly job: ClaimedJob;
  readonly workerId: string;
  readonly cancelRequested: boolean;
  readonly runningSeconds: number;
}

interface LeasedRow extends ClaimedRow {
  worker_id: string;
  cancel_requested: boolean;
  running_seconds: number;
  lease_seconds: number;
}

/**
 * Returns the attempt of this lease if a worker of this holder has it. A lease number can be guessed, so the caller
 * must also be the holder that it was given to. `holder` is the prefix of all ids of the holder's workers.
 */
export async function findLeasedAttempt(db: Runner, holder: string, lease: Lease): Promise<LeasedAttempt | null> {
  const [row] = await db.run<LeasedRow>(leasedRemoteAttemptSql, [lease.jobId, lease.leaseNo, holder]);
  if (!row) return null;
  return {
    job: toClaimedJob(row, row.lease_seconds),
    workerId: row.worker_id,
    cancelRequested: row.cancel_requested,
    runningSeconds: row.running_seconds,
  };
}

/**
 * Begin time for the end of an attempt whose worker sent no other message: the attempt began when it was handed out. A
 * lost claim response shows only in the absence of messages.
 */
export const SINCE_HAND_OUT = Number.NEGATIVE_INFINITY;

/**
 * Marks an attempt as begun, from its hand-out on, because its worker sent a message. Does nothing if it is already
 * marked. Returns false if the lease is lost.
 */
export async function markHeard(db: Runner, { job }: Pick<LeasedAttempt, "job">): Promise<boolean> {
  if (job.hasBegun) return true;
  const { begun } = await startAttempts(db, [{ ...job, beganAt: SINCE_HAND_OUT }]);
  return begun.length > 0;
}

export interface EndedAttempt {
  readonly status: AttemptStatus;
  /** Null if the job is queued again. */
  readonly outcome: TerminalState | null;
  readonly retryAt: Date | null;
}

/** Returns how the attempt of this lease ended, if a worker of this holder had it. */
export async function findEndedAttempt(db: Runner, holder: string, lease: Lease): Promise<EndedAttempt | null> {
  const [row] = await db.run<{ status: AttemptStatus; outcome: TerminalState | null; retry_at: Date | null }>(
    endedRemoteAttemptSql,
    [lease.jobId, lease.leaseNo, holder],
  );
  return row ? { status: row.status, outcome: row.outcome, retryAt: row.retry_at } : null;
}

/**
 * Decides what follows when a worker gives a job back with a reason: the job is queued again, and no attempt is spent.
 * A run that was given back as often as a run may lose its lease ends instead, so that no job is given back forever.
 */
export async function decideGiveBack(
  db: Runner,
  job: Pick<ClaimedJob, "jobId" | "leaseNo" | "tenantId" | "runNo">,
  { deadLetter, reason }: { readonly deadLetter: boolean; readonly reason: string },
): Promise<AttemptEnd> {
  const [row] = await db.run<{ n: number }>(releasesSql, [job.jobId, job.runNo]);
  const errorText = reason || "Its worker released the job.";
  if ((row?.n ?? 0) + 1 < MAX_RECLAIMS) return { ...givenBackEnd(job), errorText };
  const { jobId, leaseNo, tenantId } = job;
  return {
    jobId,
    leaseNo,
    tenantId,
    status: "failed",
    outcome: deadLetter ? "dead_letter" : "failed",
    spent: false,
    errorType: "worker_lost",
    errorText: `Workers released the job ${MAX_RECLAIMS} times in this run. ${errorText}`,
  };
}

/** Measures an attempt's stored output. */
export async function measureLog(db: Runner, lease: Lease): Promise<{ bytes: number; lines: number }> {
  const [row] = await db.run<{ bytes: number; lines: number }>(attemptLogBytesSql, [lease.jobId, lease.leaseNo]);
  return row ?? { bytes: 0, lines: 0 };
}

export interface RemoteWorker extends Omit<WorkerRegistration, "isolation" | "healthPort"> {
  /** The tenant that the worker is confined to; null = none. */
  readonly tenantId: string | null;
}

/**
 * Registers a remote worker and records its heartbeat. Returns false if its holder already has too many workers.
 * `counts` decides how often the worker's leases are counted; create one per process.
 */
export async function recordRemoteWorker(
  db: Runner,
  holder: string,
  worker: RemoteWorker,
  counts = new WholeLooks(),
): Promise<boolean> {
  const leased = await countLeased(db, worker.workerId, counts);
  const rows = await db.run(recordRemoteWorkerSql, [
    worker.workerId,
    worker.hostname,
    worker.pid,
    worker.version,
    worker.label,
    worker.queues,
    worker.definitions,
    worker.capacity,
    leased,
    holder,
    WORKERS_PER_KEY,
    worker.tenantId,
  ]);
  return rows.length > 0;
}

/** Records the heartbeat that comes with any other message of a remote worker. */
export const seeRemoteWorker = async (db: Runner, workerId: string): Promise<void> =>
  void (await db.run(seeRemoteWorkerSql, [workerId]));
