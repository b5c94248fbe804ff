import type { StepList, WorkerList } from "@/lib/contract";
import type { Enqueued, StepsPage, TzCounts } from "@/lib/queue/types";

/** Returns the outcome of an enqueue request as the API answers it. */
export const enqueuedAnswer = (job: Enqueued) => ({
  id: job.jobId,
  tenant_id: job.tenantId,
  definition_key: job.definitionKey,
  status: job.status,
  deduplicated: job.deduplicated,
  queued_at: job.queuedAt.toISOString(),
  scheduled_for: job.scheduledFor.toISOString(),
});

/** Returns a page of steps as the API answers it; `next_after` is null after the last step. */
export function stepsAnswer({ steps, hasMore }: StepsPage): StepList {
  const last = hasMore ? steps.at(-1) : undefined;
  return { data: [...steps], next_after: last ? `${last.run_no}:${last.name}` : null };
}

/** Returns the time-zone data versions of living processes and of this web process. */
export function tzVersions(uses: readonly TzCounts[], own: string | null): WorkerList["tz_versions"] {
  const all = uses.some(({ tz_version }) => tz_version === own)
    ? uses
    : [...uses, { tz_version: own, workers: 0, schedulers: 0 }];
  return all.map((use) => ({ ...use, web: use.tz_version === own ? 1 : 0 }));
}
