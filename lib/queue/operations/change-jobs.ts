import type { Database, TenantTransaction } from "@/lib/db";
import { jobNotFound, QueueError } from "../errors";
import { checkJobChange } from "../policy/job-change";
import { getJob, inTenant } from "../queries/get-job";
import { changeJobsSql, ensureLanesSql, pauseJobsSql, resumeJobsSql } from "../sql/change-jobs";
import { isChangeable, isPausable, isResumable } from "../states";
import type { JobChange, JobView, TenantScope } from "../types";
import { actOnOne, type LiveAct, type Moved } from "./act-on-jobs";
import { notifyChanges, notifyWork } from "./wake";

interface MovedRow extends Moved {
  readonly lane_no: number;
  readonly ready: boolean;
  readonly old_lane_no?: number;
}

export const PAUSE: LiveAct = {
  action: "pause",
  refuse: (job) => (isPausable(job.state) ? null : "state-conflict"),
  write: async (tx, jobIds) => told(tx, await tx.run<MovedRow>(pauseJobsSql, [tx.tenantId, jobIds])),
};

export const RESUME: LiveAct = {
  action: "resume",
  refuse: (job) => (isResumable(job.state) ? null : "state-conflict"),
  write: async (tx, jobIds) => told(tx, await tx.run<MovedRow>(resumeJobsSql, [tx.tenantId, jobIds])),
};

/** The act of changing priority, time or both. @throws QueueError invalid-value */
export function changeAct(change: JobChange): LiveAct {
  const problems = checkJobChange(change);
  if (problems.length > 0) throw new QueueError("invalid-value", "The change is not valid.", { problems });
  const { priority = null, scheduledFor = null } = change;
  return {
    action: "change",
    refuse: (job) => {
      if (!isChangeable(job.state)) return "state-conflict";
      return scheduledFor && job.expires_at && job.expires_at <= scheduledFor ? "invalid-value" : null;
    },
    write: async (tx, jobIds) => {
      const chosen = [tx.tenantId, jobIds];
      if (priority !== null) await tx.run(ensureLanesSql, [...chosen, priority]);
      return told(tx, await tx.run<MovedRow>(changeJobsSql, [...chosen, priority, scheduledFor]));
    },
  };
}

/** Hints go out after the commit: workers hear of what became ready, pages of every lane that was touched. */
function told(tx: TenantTransaction, moved: readonly MovedRow[]): readonly MovedRow[] {
  tx.afterCommit((pool) => {
    notifyWork(
      pool,
      moved.filter((job) => job.ready).map((job) => job.lane_no),
    );
    notifyChanges(
      pool,
      moved.flatMap((job) => [job.lane_no, job.old_lane_no ?? job.lane_no]),
    );
  });
  return moved;
}

/**
 * Keeps a queued job from being started until it is resumed. It may still be canceled, and expires in its time.
 * @throws QueueError not-found; state-conflict unless it is queued
 */
export const pauseJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> =>
  act(db, scope, { act: PAUSE, jobId });

/**
 * Puts a paused job back into its lane, where it stands as if it had never been paused.
 * @throws QueueError not-found; state-conflict unless it is paused
 */
export const resumeJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> =>
  act(db, scope, { act: RESUME, jobId });

/**
 * Gives a queued or paused job another priority, time or both; they hold for later runs as well. What it has waited
 * still counts. A time that is past makes it due at once.
 * @throws QueueError not-found; state-conflict unless it is queued or paused; invalid-value
 */
export const changeJob = (
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, ...change }: JobChange & { readonly jobId: string },
): Promise<JobView> => act(db, scope, { act: changeAct(change), jobId });

function act(
  db: Database | TenantTransaction,
  scope: TenantScope,
  chosen: { readonly act: LiveAct; readonly jobId: string },
): Promise<JobView> {
  return inTenant(db, scope, async (tx) => {
    await actOnOne(tx, scope, chosen);
    const job = await getJob(tx, scope, chosen.jobId);
    if (!job) throw jobNotFound();
    return job;
  });
}
