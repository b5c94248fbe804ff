import type { Database, TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import { notifyChanges, notifyWork } from "../notify";
import { isChangeable, isPausable, isResumable, type LiveState } from "../states";
import type { Job, TenantScope } from "../types";
import { type ActionRow, actOnOne, idsOf, type JobAct } from "./act-on-jobs";
import { changeJobsSql, ensureLanesSql, lockLiveJobsSql, pauseJobsSql, resumeJobsSql } from "./change-jobs.sql";
import { checkJobChange } from "./job-change.policy";
import type { ActionRefusal, JobChange } from "./types";

interface LiveRow extends ActionRow {
  readonly status: LiveState;
  readonly expires_at: Date | null;
}

interface MovedRow extends ActionRow {
  readonly ready: boolean;
  readonly old_lane_no?: number;
}

/** Locks the live ones of the jobs. */
export const lockLiveJobs = (tx: TenantTransaction, jobIds: readonly string[]): Promise<LiveRow[]> =>
  tx.run<LiveRow>(lockLiveJobsSql, [tx.tenantId, jobIds]);

const refuseUnless = (legal: (row: LiveRow) => boolean) => (row: LiveRow) => (legal(row) ? null : "state-conflict");

export const PAUSE: JobAct<LiveRow> = {
  action: "pause",
  lock: lockLiveJobs,
  refuse: refuseUnless((job) => isPausable(job.status)),
  write: async (tx, jobs) => withNotice(tx, await tx.run<MovedRow>(pauseJobsSql, [tx.tenantId, idsOf(jobs)])),
};

export const RESUME: JobAct<LiveRow> = {
  action: "resume",
  lock: lockLiveJobs,
  refuse: refuseUnless((job) => isResumable(job.status)),
  write: async (tx, jobs) => withNotice(tx, await tx.run<MovedRow>(resumeJobsSql, [tx.tenantId, idsOf(jobs)])),
};

/** Returns the action that changes priority, time or both. @throws QueueError invalid-value */
export function changeAct(change: JobChange): JobAct<LiveRow> {
  const problems = checkJobChange(change);
  if (problems.length > 0) throw new QueueError("invalid-value", "The change is not valid.", { problems });
  const { priority = null, scheduled_for = null } = change;
  return {
    action: "change",
    lock: lockLiveJobs,
    refuse: (job): ActionRefusal | null => {
      if (!isChangeable(job.status)) return "state-conflict";
      return scheduled_for && job.expires_at && job.expires_at <= new Date(scheduled_for) ? "invalid-value" : null;
    },
    write: async (tx, jobs) => {
      const chosen = [tx.tenantId, idsOf(jobs)];
      if (priority !== null) await tx.run(ensureLanesSql, [...chosen, priority]);
      return withNotice(tx, await tx.run<MovedRow>(changeJobsSql, [...chosen, priority, scheduled_for]));
    },
  };
}

/** Notifies after the commit: workers of jobs that became ready, pages of every lane that changed. */
function withNotice(tx: TenantTransaction, moved: readonly MovedRow[]): readonly MovedRow[] {
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
 * Keeps a queued job from being started until it is resumed. It can still be canceled, and it expires at its
 * expires_at.
 * @throws QueueError not-found; state-conflict unless it is queued
 */
export const pauseJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<Job> =>
  actOnOne(db, scope, { act: PAUSE, jobId });

/**
 * Puts a paused job back into its lane, at the position that it would have without the pause.
 * @throws QueueError not-found; state-conflict unless it is paused
 */
export const resumeJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<Job> =>
  actOnOne(db, scope, { act: RESUME, jobId });

/**
 * Gives a queued or paused job another priority, time or both, which hold for later runs too. The time that the job has
 * waited still counts. A time in the past makes the job due at once.
 * @throws QueueError not-found; state-conflict unless it is queued or paused; invalid-value
 */
export const changeJob = (
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, ...change }: JobChange & { readonly jobId: string },
): Promise<Job> => actOnOne(db, scope, { act: changeAct(change), jobId });
