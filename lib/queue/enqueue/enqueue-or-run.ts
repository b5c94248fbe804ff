import { type Database, isUnavailable } from "@/lib/db";
import type { Enqueued, NewJob, TenantScope } from "../types";
import { enqueueJob } from "./enqueue-jobs";

const WAIT_MS = 1000;

export interface JobOrWork<T> {
  readonly job: NewJob;
  /** The work itself, for when it cannot be enqueued. */
  readonly run: () => Promise<T>;
  /** How long to wait for the database; default 1000. */
  readonly waitMs?: number;
}

export type EnqueuedOrRun<T> =
  | { readonly ran: false; readonly enqueued: Enqueued }
  | { readonly ran: true; readonly result: T };

/**
 * Enqueues a job, or does its work here and now when the database does not take it within `waitMs`: for code that must
 * not wait for the queue. An enqueue that did not answer in time may still come through, so the work may be done twice.
 * @throws QueueError as `enqueueJob` does, and whatever `run` throws
 */
export async function enqueueOrRun<T>(
  db: Database,
  scope: TenantScope,
  { job, run, waitMs = WAIT_MS }: JobOrWork<T>,
): Promise<EnqueuedOrRun<T>> {
  const enqueued = await withinOrNull(enqueueJob(db, scope, job), waitMs);
  return enqueued ? { ran: false, enqueued } : { ran: true, result: await run() };
}

/** Null when the database is away or says nothing in time. */
async function withinOrNull<T>(asked: Promise<T>, waitMs: number): Promise<T | null> {
  const answered = asked.catch((error: unknown) => {
    if (isUnavailable(error)) return null;
    throw error;
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), waitMs);
  });
  // Whoever is late fails with nobody listening.
  answered.catch(() => undefined);
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
