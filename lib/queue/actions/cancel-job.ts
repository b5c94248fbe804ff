import type { Database, TenantTransaction } from "@/lib/db";
import { notifyCancel, notifyChanges, notifyWork } from "../notify";
import type { JobView, TenantScope } from "../types";
import { actOnOne, idsOf, type JobAct, type JobRow } from "./act-on-jobs";
import { cancelWaitingSql, requestCancelSql } from "./cancel-job.sql";
import { lockLiveJobsSql } from "./change-jobs.sql";

interface EndedRow extends JobRow {
  /** Lanes of jobs that waited for one of these; the same in each row. */
  readonly released: readonly number[] | null;
}

export const CANCEL: JobAct<JobRow> = {
  action: "cancel",
  lock: lockLiveJobsSql,
  refuse: () => null,
  write: async (tx, jobs) => {
    const write = async <R extends JobRow>(statement: typeof cancelWaitingSql, those: readonly JobRow[]) =>
      those.length === 0 ? [] : tx.run<R>(statement, [tx.tenantId, idsOf(those)]);
    const ended = await write<EndedRow>(
      cancelWaitingSql,
      jobs.filter((job) => job.status !== "running"),
    );
    const asked = await write<JobRow>(
      requestCancelSql,
      jobs.filter((job) => job.status === "running"),
    );
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
 * Cancels a job. One that waits ends at once. A running one is asked to stop: its process group gets TERM within two
 * seconds and the status changes when it has ended; asking again changes nothing. Jobs that wait for one that ends so
 * are released, or end with it.
 * @throws QueueError not-found; state-conflict when it has ended already (whatever committed first holds)
 */
export const cancelJob = (db: Database | TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> =>
  actOnOne(db, scope, { act: CANCEL, jobId });
