import type { Database, TenantTransaction } from "@/lib/db";
import { jobNotFound, QueueError } from "../errors";
import { inTenant } from "../queries/get-job";
import { auditJobsSql, endedStatusesSql, lockLiveJobsSql } from "../sql/change-jobs";
import type { JobStatus, LiveState } from "../states";
import type { ActResult, Refusal, TenantScope } from "../types";

export interface LockedJob {
  readonly job_id: string;
  readonly state: LiveState;
  readonly lane_no: number;
  readonly cancel_requested_at: Date | null;
  readonly expires_at: Date | null;
}

/** One kind of act on jobs that have not ended. */
export interface LiveAct {
  /** As the audit names it. */
  readonly action: string;
  /** Null when the act is legal for this job. */
  readonly refuse: (job: LockedJob) => Refusal | null;
  /** Writes it for jobs that are locked and legal; answers where each stands now. */
  readonly write: (tx: TenantTransaction, jobIds: readonly string[]) => Promise<readonly Moved[]>;
}

export interface Moved {
  readonly job_id: string;
  readonly state: JobStatus;
}

/**
 * Does one act to each of many jobs of a tenant, or says why not; one result for each id, in their order. The jobs are
 * locked first, so nothing moves between the decision and the write, and what was done is in the audit.
 */
export async function actOnLiveJobs(
  tx: TenantTransaction,
  scope: TenantScope,
  { act, jobIds, reason }: { readonly act: LiveAct; readonly jobIds: readonly string[]; readonly reason?: string },
): Promise<ActResult[]> {
  const locked = await tx.run<LockedJob>(lockLiveJobsSql, [scope.tenantId, jobIds]);
  const results = new Map<string, ActResult>();
  for (const job of locked) {
    const code = act.refuse(job);
    if (code !== null) results.set(job.job_id, { jobId: job.job_id, code, status: job.state });
  }
  const legal = locked.filter((job) => !results.has(job.job_id));
  const moved = legal.length === 0 ? [] : await act.write(tx, idsOf(legal));
  for (const { job_id, state } of moved) results.set(job_id, { jobId: job_id, code: "done", status: state });
  await audit(tx, scope, { action: act.action, reason, locked: legal, moved });
  const missing = jobIds.filter((id) => !results.has(id));
  for (const result of await endedResults(tx, scope, missing)) results.set(result.jobId, result);
  return jobIds.map((jobId) => results.get(jobId) ?? { jobId, code: "not-found", status: null });
}

const idsOf = (jobs: readonly { job_id: string }[]): string[] => jobs.map((job) => job.job_id);

async function endedResults(tx: TenantTransaction, scope: TenantScope, ids: readonly string[]): Promise<ActResult[]> {
  if (ids.length === 0) return [];
  const rows = await tx.run<{ job_id: string; status: JobStatus }>(endedStatusesSql, [scope.tenantId, ids]);
  return rows.map((row) => ({ jobId: row.job_id, code: "state-conflict", status: row.status }));
}

interface Audited {
  readonly action: string;
  readonly reason: string | undefined;
  readonly locked: readonly LockedJob[];
  readonly moved: readonly Moved[];
}

async function audit(tx: TenantTransaction, { tenantId, actor }: TenantScope, done: Audited): Promise<void> {
  if (done.moved.length === 0) return;
  const from = new Map(done.locked.map((job) => [job.job_id, job.state]));
  await tx.run(auditJobsSql, [
    tenantId,
    idsOf(done.moved),
    actor.kind,
    actor.id,
    done.action,
    actor.requestId ?? null,
    done.reason ?? null,
    done.moved.map((job) => from.get(job.job_id)),
    done.moved.map((job) => job.state),
  ]);
}

/** Does an act to one job. @throws QueueError not-found, state-conflict (with where the job stands), invalid-value */
export function actOnOne(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { act, jobId }: { readonly act: LiveAct; readonly jobId: string },
): Promise<void> {
  return inTenant(db, scope, async (tx) => {
    const [result] = await actOnLiveJobs(tx, scope, { act, jobIds: [jobId] });
    if (result && result.code !== "done") throw refusal(act.action, result);
  });
}

function refusal(action: string, { code, status }: ActResult): QueueError {
  if (code === "not-found" || status === null) return jobNotFound();
  if (code === "invalid-value") {
    const problems = [{ pointer: "/scheduled_for", code: "order", detail: "must be before the job's expires_at" }];
    return new QueueError("invalid-value", "The job would expire before it is due.", { problems });
  }
  return new QueueError("state-conflict", `A job that is ${status} cannot be ${PARTICIPLES[action] ?? action}.`, {
    current: status,
  });
}

const PARTICIPLES: Readonly<Record<string, string>> = { pause: "paused", resume: "resumed", change: "changed" };
