import type { Database, TenantTransaction } from "@/lib/db";
import { notifyCancel, notifyChanges, notifyWork } from "../notify";
import type { Job, TenantScope } from "../types";
import { type ActionRow, type ActionSpec, applyActionToOne, idsOf } from "./apply-action";
import { cancelWaitingSql, requestCancelSql } from "./cancel-job.sql";
import { lockLiveJobs } from "./change-jobs";

interface EndedRow extends ActionRow {
  /** Lanes of dependents of these jobs; the same in each row. */
  readonly released: readonly number[] | null;
}

export const CANCEL: ActionSpec<ActionRow> = {
  action: "cancel",
  lock: lockLiveJobs,
  refuse: () => null,
  write: async (tx, jobs) => {
    const waiting = idsOf(jobs.filter((job) => job.status !== "running"));
    const running = idsOf(jobs.filter((job) => job.status === "running"));
    const ended = waiting.length === 0 ? [] : await tx.run<EndedRow>(cancelWaitingSql, [tx.tenantId, waiting]);
    const asked = running.length === 0 ? [] : await tx.run<ActionRow>(requestCancelSql, [tx.tenantId, running]);
    const released = ended[0]?.released ?? [];
    tx.afterCommit((pool) => {
      if (asked.length > 0) notifyCancel(pool);
      notifyWork(pool, released);
      notifyChanges(pool, [...jobs.map((job) => job.lane_no), ...released]);
    });
    return [...ended, ...asked];
  },
};

/**
 * Cancels a job. A waiting job ends at once. A running job is asked to stop: its process group gets TERM within two
 * seconds, and the status changes when it has ended; a second request changes nothing. The dependents of a job that
 * ends at once are released, or end with it.
 * @throws QueueError not-found; state-conflict if the job has already ended (the first commit wins)
 */
export const cancelJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<Job> =>
  applyActionToOne(db, scope, { spec: CANCEL, jobId });
