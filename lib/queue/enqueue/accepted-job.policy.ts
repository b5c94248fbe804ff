import { describeWait } from "../read/wait-reason.policy";
import type { JobView, NewJob, TenantScope } from "../types";

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
export function acceptedView({ tenantId, actor }: TenantScope, job: NewJob, { row, definition }: AcceptedJob): JobView {
  return {
    id: row.job_id,
    tenantId,
    definitionId: definition.id,
    definitionKey: job.definitionKey,
    definitionVersion: definition.version,
    queue: job.queue ?? definition.queue,
    status: "queued",
    source: job.source ?? "manual",
    sourceRef: job.sourceRef ?? null,
    priority: row.priority,
    ...asStored(job),
    dedupeKey: job.dedupeKey ?? null,
    correlationId: job.correlationId ?? null,
    parentJobId: job.parentJobId ?? null,
    retriedFromId: job.retriedFromId ?? null,
    scheduledFor: row.scheduled_for,
    queuedAt: row.queued_at,
    expiresAt: job.expiresAt ?? null,
    maxAttempts: row.max_attempts,
    timeoutSeconds: row.timeout_seconds ?? definition.timeoutSeconds,
    createdBy: actor.userId,
    waitReason: row.ready ? null : scheduled(row.scheduled_for),
    ...UNTOUCHED,
  };
}

const UNTOUCHED = {
  result: null,
  startedAt: null,
  finishedAt: null,
  attemptCount: 0,
  runNo: 1,
  leaseExpiresAt: null,
  claimedByWorker: null,
  cancelRequestedAt: null,
  progress: null,
  lastError: null,
  errorType: null,
} as const;

/** Returns JSON as the database returns it: a Date is its ISO string, -0 is 0. */
function asStored({ payload = {}, metadata = {}, tags = [] }: NewJob): Pick<JobView, "payload" | "metadata" | "tags"> {
  return { ...(JSON.parse(JSON.stringify({ payload, metadata })) as object), tags: [...tags] };
}

const scheduled = (until: Date): JobView["waitReason"] =>
  describeWait({ status: "queued", isFuture: true, attemptsSpent: 0, until, hasWorker: true, pause: null });
