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
  const enqueued = await withinOrNull(enqueueJob(db, scope, job), waitMs);
  return enqueued ? { ran: false, enqueued } : { ran: true, result: await run() };
}

/** Returns null if the database is unavailable or does not answer in time. */
async function withinOrNull<T>(asked: Promise<T>, waitMs: number): Promise<T | null> {
  const answered = asked.catch((error: unknown) => {
    if (isUnavailable(error)) return null;
    throw error;
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), waitMs);
  });
  // An enqueue that fails after the timeout must not become an unhandled rejection.
  answered.catch(() => undefined);
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
