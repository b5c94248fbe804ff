import type { Database, TenantTransaction } from "@/lib/db";
import { jobNotFound, QueueError } from "../errors";
import { getJob, inTenant } from "../queries/get-job";
import { auditJobSql, cancelWaitingSql, lockLiveJobSql, requestCancelSql } from "../sql/control-jobs";
import type { LiveState } from "../states";
import type { JobView, TenantScope } from "../types";
import { notifyCancel, notifyChanges, notifyWork } from "./wake";

/**
 * Cancels a job. One that waits ends at once. A running one is asked to stop: its process group gets TERM within two
 * seconds and the status changes when it has ended; asking again changes nothing. Jobs that wait for one that ends so
 * are released, or end with it.
 * @throws QueueError not-found; state-conflict when it has ended already (whatever committed first holds)
 */
export function cancelJob(db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> {
  return inTenant(db, scope, async (tx) => {
    const key = [scope.tenantId, jobId];
    const [live] = await tx.run<{ state: LiveState; lane_no: number }>(lockLiveJobSql, key);
    if (!live) throw await alreadyEnded(tx, scope, jobId);
    const running = live.state === "running";
    const [ended] = await tx.run<{ released?: number[] | null }>(running ? requestCancelSql : cancelWaitingSql, key);
    const released = ended?.released ?? [];
    await auditJob(tx, scope, { jobId, action: "cancel", from: live.state, to: running ? "running" : "canceled" });
    tx.afterCommit((pool) => {
      if (running) notifyCancel(pool);
      notifyWork(pool, released);
      notifyChanges(pool, [live.lane_no, ...released]);
    });
    const job = await getJob(tx, scope, jobId);
    if (!job) throw jobNotFound();
    return job;
  });
}

/** The error for an act on a job that has no live row: it has ended, or it is not this tenant's. */
export async function alreadyEnded(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<QueueError> {
  const job = await getJob(tx, scope, jobId);
  if (!job) return jobNotFound();
  return new QueueError("state-conflict", `The job is ${job.status} already.`, { current: job.status });
}

interface JobAct {
  readonly jobId: string;
  readonly action: string;
  readonly from: string;
  readonly to: string;
}

/** Writes down who did what to a job, in the transaction of the act. */
export async function auditJob(tx: TenantTransaction, { tenantId, actor }: TenantScope, act: JobAct): Promise<void> {
  await tx.run(auditJobSql, [
    tenantId,
    act.jobId,
    actor.kind,
    actor.id,
    act.action,
    act.from,
    act.to,
    actor.requestId ?? null,
  ]);
}
