import type { JobStatus } from "../states";
import type { HoldScope, JobSource, JobView } from "../types";
import { describeWait, type MoreFacts } from "./wait-reason.policy";

export interface JobViewRow {
  id: string;
  tenant_id: string;
  definition_id: string;
  definition_key: string;
  definition_version: number;
  queue: string;
  status: JobStatus;
  source: JobSource;
  source_ref: string | null;
  priority: number;
  payload?: unknown;
  metadata?: Record<string, unknown>;
  result?: unknown;
  tags: string[];
  dedupe_key: string | null;
  correlation_id: string | null;
  parent_job_id: string | null;
  retried_from_id: string | null;
  retried_by_id?: string | null;
  scheduled_for: Date;
  queued_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  expires_at: Date | null;
  attempt_count: number;
  max_attempts: number;
  run_no: number;
  timeout_seconds: number;
  lease_expires_at: Date | null;
  claimed_by_worker: string | null;
  cancel_requested_at: Date | null;
  progress: number | null;
  progress_message: string | null;
  last_error: string | null;
  error_type: string | null;
  created_by: string | null;
  is_future: boolean | null;
  is_put_off: boolean | null;
  has_worker: boolean;
  pause: { scope: HoldScope; reason: string; until: string | null } | null;
  lane_no: number | null;
  sort_key: number | null;
}

/** Converts a row of the job queries to a JobView, with further facts about why the job waits. */
export function toJobView(row: JobViewRow, more: MoreFacts = {}): JobView {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    definitionId: row.definition_id,
    definitionKey: row.definition_key,
    definitionVersion: row.definition_version,
    queue: row.queue,
    status: row.status,
    source: row.source,
    sourceRef: row.source_ref,
    priority: row.priority,
    ...("payload" in row
      ? {
          payload: row.payload,
          metadata: row.metadata ?? {},
          result: row.result,
          retriedById: row.retried_by_id ?? null,
        }
      : {}),
    tags: row.tags,
    dedupeKey: row.dedupe_key,
    correlationId: row.correlation_id,
    parentJobId: row.parent_job_id,
    retriedFromId: row.retried_from_id,
    scheduledFor: row.scheduled_for,
    queuedAt: row.queued_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expiresAt: row.expires_at,
    attemptCount: row.attempt_count,
    maxAttempts: row.max_attempts,
    runNo: row.run_no,
    timeoutSeconds: row.timeout_seconds,
    leaseExpiresAt: row.lease_expires_at,
    claimedByWorker: row.claimed_by_worker,
    cancelRequestedAt: row.cancel_requested_at,
    progress: row.progress === null ? null : { percent: row.progress, message: row.progress_message },
    lastError: row.last_error,
    errorType: row.error_type,
    createdBy: row.created_by,
    waitReason: describeWait({
      status: row.status,
      isFuture: row.is_future === true,
      isPutOff: row.is_put_off === true,
      attemptsSpent: row.attempt_count,
      until: row.scheduled_for,
      hasWorker: row.has_worker,
      pause: row.pause && { ...row.pause, until: row.pause.until === null ? null : new Date(row.pause.until) },
      ...more,
    }),
  };
}
