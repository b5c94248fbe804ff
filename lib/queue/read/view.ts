import type { HoldScope, Job, JobRow } from "../types";
import { describeWait, type MoreFacts } from "./wait-reason.policy";

/** A row of the statements in read-jobs.sql.ts: a job, and what its wait reason follows from. */
export type JobRead<J extends JobRow | Job = JobRow> = Omit<J, "progress" | "wait_reason"> & {
  readonly progress: number | null;
  readonly progress_message: string | null;
  readonly is_future: boolean | null;
  readonly is_put_off: boolean | null;
  readonly has_worker: boolean;
  readonly pause: { readonly scope: HoldScope; readonly reason: string; readonly until: string | null } | null;
  readonly queue_id: number;
  readonly ready: boolean | null;
  readonly lane_no: number | null;
  readonly sort_key: number | null;
};

/** Returns the job of a row, with further facts about why it waits. */
export function toJob<J extends JobRow | Job>(read: JobRead<J>, more: MoreFacts = {}): J {
  const { is_future, is_put_off, has_worker, pause, queue_id, ready, lane_no, sort_key, ...row } =
    read as unknown as JobRead<Job>;
  const { progress, progress_message, ...job } = row;
  const known = {
    ...job,
    progress: progress === null ? null : { percent: progress, message: progress_message },
    wait_reason: describeWait({
      status: job.status,
      isFuture: is_future === true,
      isPutOff: is_put_off === true,
      attemptsSpent: job.attempt_count,
      until: job.scheduled_for,
      hasWorker: has_worker,
      pause: pause && { ...pause, until: pause.until && new Date(pause.until).toISOString() },
      ...more,
    }),
  };
  return known as unknown as J;
}
