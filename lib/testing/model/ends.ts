import type { EndModel, JobModel, LiveModel } from "./shapes";

export const BACKOFF_MS = 20_000;
const MOST_RECLAIMS = 10;

/** What a failure means for the holder of a lease: another attempt, or the end. */
export const afterFailure = (job: JobModel | undefined, spentBefore: number): EndModel =>
  spentBefore + 1 >= (job?.maxAttempts ?? 0)
    ? { status: "failed", spent: true, outcome: "dead_letter" }
    : { status: "failed", spent: true, retryInMs: BACKOFF_MS };

/** What the end of a lease means for its job: it is back at once, and later when that was not the first time. */
export function afterLoss({ maxAttempts }: JobModel, live: LiveModel): EndModel {
  const lost = { status: "worker_lost", spent: live.startedAt !== null, reclaimed: true } as const;
  const spent = live.spent + (lost.spent ? 1 : 0);
  if (live.cancelAt !== null) return { ...lost, outcome: "canceled" };
  if (live.reclaims + 1 >= MOST_RECLAIMS || (lost.spent && spent >= maxAttempts))
    return { ...lost, outcome: "dead_letter" };
  return { ...lost, retryInMs: live.reclaims === 0 ? 0 : BACKOFF_MS };
}
