import type { EndModel, JobModel, LiveModel } from "./shapes";

export const BACKOFF_MS = 20_000;
const MOST_RECLAIMS = 10;

/** Returns the end of a failed attempt: another attempt, or the end of the run. */
export const afterFailure = (job: JobModel | undefined, spentBefore: number): EndModel =>
  spentBefore + 1 >= (job?.maxAttempts ?? 0)
    ? { status: "failed", spent: true, outcome: "dead_letter" }
    : { status: "failed", spent: true, retryInMs: BACKOFF_MS };

/** Returns the effect of an expired lease on its job: queued again at once, or later if a lease expired before. */
export function afterLoss({ maxAttempts }: JobModel, live: LiveModel): EndModel {
  const lost = { status: "worker_lost", spent: live.startedAt !== null, reclaimed: true } as const;
  const spent = live.spent + (lost.spent ? 1 : 0);
  if (live.cancelAt !== null) return { ...lost, outcome: "canceled" };
  if (live.reclaims + 1 >= MOST_RECLAIMS || (lost.spent && spent >= maxAttempts))
    return { ...lost, outcome: "dead_letter" };
  return { ...lost, retryInMs: live.reclaims === 0 ? 0 : BACKOFF_MS };
}
