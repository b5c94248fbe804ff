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
    tenant_id: row.tenant_id,
    definition_id: row.definition_id,
    definition_key: row.definition_key,
    definition_version: row.definition_version,
    queue: row.queue,
    status: row.status,
    source: row.source,
    source_ref: row.source_ref,
    priority: row.priority,
    ...("payload" in row
      ? {
          payload: row.payload,
          metadata: row.metadata ?? {},
          result: row.result,
          retried_by_id: row.retried_by_id ?? null,
        }
      : {}),
    tags: row.tags,
    dedupe_key: row.dedupe_key,
    correlation_id: row.correlation_id,
    parent_job_id: row.parent_job_id,
    retried_from_id: row.retried_from_id,
    scheduled_for: row.scheduled_for,
    queued_at: row.queued_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    expires_at: row.expires_at,
    attempt_count: row.attempt_count,
    max_attempts: row.max_attempts,
    run_no: row.run_no,
    timeout_seconds: row.timeout_seconds,
    lease_expires_at: row.lease_expires_at,
    claimed_by_worker: row.claimed_by_worker,
    cancel_requested_at: row.cancel_requested_at,
    progress: row.progress === null ? null : { percent: row.progress, message: row.progress_message },
    last_error: row.last_error,
    error_type: row.error_type,
    created_by: row.created_by,
    wait_reason: describeWait({
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
