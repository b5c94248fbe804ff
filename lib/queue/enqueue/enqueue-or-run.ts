import { withDeadline } from "@/lib/async/deadline";
import { type Database, isUnavailable } from "@/lib/db";
import type { Enqueued, NewJob, TenantScope } from "../types";
import { enqueueJob } from "./enqueue-jobs";

const WAIT_MS = 1000;

export interface JobOrWork<T> {
  readonly job: NewJob;
  /** Does the work itself, if the job cannot be enqueued. */
  readonly run: () => Promise<T>;
  /** How long to wait for the database; default 1000. */
  readonly waitMs?: number;
}

export type EnqueuedOrRun<T> =
  | { readonly ran: false; readonly enqueued: Enqueued }
  | { readonly ran: true; readonly result: T };

/**
 * Enqueues a job, or does its work in this process if the database does not accept the job within `waitMs`. For code
 * that must not wait for the queue. An enqueue that did not answer in time may still succeed, so the work may be done
 * twice.
 * @throws QueueError as `enqueueJob` does, and any error of `run`
 */
export async function enqueueOrRun<T>(
  db: Database,
  scope: TenantScope,
  { job, run, waitMs = WAIT_MS }: JobOrWork<T>,
): Promise<EnqueuedOrRun<T>> {
  const answered = enqueueJob(db, scope, job).catch((error: unknown) => {
    if (isUnavailable(error)) return null;
    throw error;
  });
  const enqueued = await withDeadline(answered, waitMs);
  return enqueued ? { ran: false, enqueued } : { ran: true, result: await run() };
}
