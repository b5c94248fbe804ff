import { describeWait } from "../read/wait-reason.policy";
import type { Job, NewJob, TenantScope } from "../types";

/** What an enqueue wrote and read for a new job without dependencies. */
export interface AcceptedJob {
  readonly row: {
    readonly job_id: string;
    readonly ready: boolean;
    readonly queued_at: Date;
    readonly scheduled_for: Date;
    readonly priority: number;
    readonly max_attempts: number;
    /** Set by the job or its queue; null if the timeout of the definition or the default applies. */
    readonly timeout_seconds: number | null;
  };
  readonly definition: {
    readonly id: string;
    readonly version: number;
    readonly queue: string;
    readonly timeoutSeconds: number;
  };
}

/** Returns a new job as it was accepted, before anything happened to it. A job that is ready has no wait reason. */
export function acceptedView({ tenantId, actor }: TenantScope, job: NewJob, { row, definition }: AcceptedJob): Job {
  return {
    id: row.job_id,
    tenant_id: tenantId,
    definition_id: definition.id,
    definition_key: job.definitionKey,
    definition_version: definition.version,
    queue: job.queue ?? definition.queue,
    status: "queued",
    source: job.source ?? "manual",
    source_ref: job.sourceRef ?? null,
    priority: row.priority,
    ...asStored(job),
    dedupe_key: job.dedupeKey ?? null,
    correlation_id: job.correlationId ?? null,
    parent_job_id: job.parentJobId ?? null,
    retried_from_id: job.retriedFromId ?? null,
    scheduled_for: row.scheduled_for.toISOString(),
    queued_at: row.queued_at.toISOString(),
    expires_at: job.expiresAt?.toISOString() ?? null,
    max_attempts: row.max_attempts,
    timeout_seconds: row.timeout_seconds ?? definition.timeoutSeconds,
    created_by: actor.userId,
    wait_reason: row.ready ? null : scheduled(row.scheduled_for),
    ...UNTOUCHED,
  };
}

const UNTOUCHED = {
  result: null,
  retried_by_id: null,
  started_at: null,
  finished_at: null,
  attempt_count: 0,
  run_no: 1,
  lease_expires_at: null,
  claimed_by_worker: null,
  cancel_requested_at: null,
  progress: null,
  last_error: null,
  error_type: null,
} as const;

/** Returns JSON as the database returns it: a Date is its ISO string, -0 is 0. */
function asStored({ payload = {}, metadata = {}, tags = [] }: NewJob): Pick<Job, "payload" | "metadata" | "tags"> {
  return {
    ...(JSON.parse(JSON.stringify({ payload, metadata })) as Pick<Job, "payload" | "metadata">),
    tags: [...tags],
  };
}

const scheduled = (until: Date): Job["wait_reason"] =>
  describeWait({
    status: "queued",
    isFuture: true,
    attemptsSpent: 0,
    until: until.toISOString(),
    hasWorker: true,
    pause: null,
  });
