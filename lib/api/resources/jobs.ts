/*
 * Translation between the API and the queue that several routes share: requests in the queue's terms, answers whose
 * shape differs from the queue's, and what a caller may see of a row. The queue returns most rows as the API answers
 * them, so most routes answer what they read.
 *
 * Start with `newJob` below, then `filters.ts` (filters and positions in lists) and `shown.ts`, which masks secrets in
 * what jobs wrote.
 */

import type * as z from "zod";
import type { createJob, createJobs, NewDependency, StepList, TenantPermission, WorkerList } from "@/lib/contract";
import type { Dependency, Enqueued, NewJob, StepsPage, TzCounts } from "@/lib/queue/types";
import { defined } from "./filters";

/** Converts the body of an enqueue request, or an item of a bulk, to the queue's terms. */
export function newJob(body: z.output<typeof createJob> & { readonly ref?: string | undefined }): NewJob {
  return {
    definitionKey: body.definition_key,
    payload: body.payload,
    source: "manual",
    ...defined({
      queue: body.queue,
      priority: body.priority,
      scheduledFor: dueOf(body.scheduled_for),
      expiresAt: dateOf(body.expires_at),
      tags: body.tags,
      metadata: body.metadata,
      correlationId: body.correlation_id,
      parentJobId: body.parent_job_id,
      maxAttempts: body.max_attempts,
      timeoutSeconds: body.timeout_seconds,
      retryDelaySeconds: body.retry_delay_seconds,
      retryMultiplier: body.retry_multiplier,
      dedupeKey: body.dedupe_key,
      dedupe:
        body.dedupe &&
        defined({
          mode: body.dedupe.mode,
          windowSeconds: body.dedupe.window_seconds,
          onConflict: body.dedupe.on_conflict,
        }),
      ref: body.ref,
      dependsOn: body.depends_on?.map(newDependency),
      onParentFailure: body.on_parent_failure,
    }),
  };
}

/**
 * Returns the permissions that a new job needs besides `jobs:create`: `jobs:read` if it takes in or depends on the
 * result of a job that may exist already, `jobs:update` if it may change the job that holds its dedupe key.
 */
export const permissionsForNewJob = (job: z.output<typeof createJob>): TenantPermission[] =>
  permissionsForNewJobs([job]);

/** Like `permissionsForNewJob`. An item with a dedupe key may stand for an existing job, so its `ref` does too. */
export function permissionsForNewJobs(jobs: z.output<typeof createJobs>["jobs"]): TenantPermission[] {
  const keyed = new Set(jobs.flatMap(({ ref, dedupe_key }) => (dedupe_key === undefined ? [] : (ref ?? []))));
  const mayExist = ({ job_id, ref }: NewDependency) => job_id !== undefined || (ref !== undefined && keyed.has(ref));
  const reads = jobs.some(({ depends_on }) => depends_on?.some((edge) => mayExist(edge) && readsResult(edge)));
  const changes = jobs.some(({ dedupe }) => dedupe !== undefined && dedupe.on_conflict !== "return");
  return [...(reads ? (["jobs:read"] as const) : []), ...(changes ? (["jobs:update"] as const) : [])];
}

const readsResult = ({ type, condition, as }: NewDependency): boolean =>
  condition !== undefined || as !== undefined || type === "data" || type === "conditional";

/**
 * A time long past means the current time. Otherwise the job would be older than its request and come before everything
 * in its lane. The minute allows for clock differences.
 */
function dueOf(asked: string | undefined): Date | undefined {
  const due = dateOf(asked);
  return due && due.getTime() < Date.now() - 60_000 ? undefined : due;
}

function newDependency(edge: NewDependency): Dependency {
  return defined({
    ref: edge.ref,
    jobId: edge.job_id,
    type: edge.type,
    condition:
      edge.condition && defined({ path: edge.condition.path, op: edge.condition.op, value: edge.condition.value }),
    as: edge.as,
  });
}

/** Parses an instant that the request's schema has validated. */
function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

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
