import type { Database, TenantTransaction } from "@/lib/db";
import { jobNotFound, QueueError } from "../errors";
import { getJob, inTenant } from "../queries/get-job";
import { lockOutcomeSql, reviveKeySql, startRunSql, supersedeOutcomeSql, takeKeySql } from "../sql/control-jobs";
import { waitAgainSql } from "../sql/dependencies";
import { isRetryable, isTerminal, type TerminalState } from "../states";
import type { JobView, NewJob, TenantScope } from "../types";
import { alreadyEnded, auditJob } from "./cancel-job";
import { enqueueJob } from "./enqueue-jobs";
import { notifyChanges, notifyWork } from "./wake";

interface OutcomeRow {
  attempt_no: number;
  run_no: number;
  outcome: TerminalState;
  lane_no: number;
  dedupe_key: string | null;
  is_active: boolean;
}

export interface Retried {
  readonly job: JobView;
  /** True when an edited payload made a new job; the old one stays as it is. */
  readonly created: boolean;
}

/**
 * Runs a finished job again. Unchanged, it is the same job in its next run: attempts start anew, history stays. With a
 * payload, it is a new job that names the old one and waits for nobody, and the payload is checked as at any door.
 * A job that ended because of a parent waits for it again; while the parent is still over and not good, that is a conflict.
 * @throws QueueError not-found; state-conflict unless failed, dead_letter, canceled or expired, or see above; dedupe-taken;
 * definition-inactive; payload-invalid
 */
export function retryJob(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, payload }: { readonly jobId: string; readonly payload?: unknown },
): Promise<Retried> {
  return inTenant(db, scope, (tx) =>
    payload === undefined ? retryUnchanged(tx, scope, jobId) : retryEdited(tx, scope, { jobId, payload }),
  );
}

async function retryUnchanged(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<Retried> {
  const outcome = await lockRetryable(tx, scope, jobId);
  const key = [scope.tenantId, jobId];
  if (outcome.dedupe_key !== null) await takeKeyAgain(tx, key, outcome.dedupe_key);
  await tx.run(supersedeOutcomeSql, [...key, outcome.attempt_no]);
  await tx.run(startRunSql, [...key, outcome.attempt_no, outcome.run_no]);
  const job = await waitAgain(tx, scope, jobId);
  await auditJob(tx, scope, { jobId, action: "retry", from: outcome.outcome, to: job.status });
  tx.afterCommit((pool) => {
    notifyWork(pool, [outcome.lane_no]);
    notifyChanges(pool, [outcome.lane_no]);
  });
  return { job, created: false };
}

/** A job whose parents had not done what it waited for waits for them again, so it cannot run before them by a retry. */
async function waitAgain(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> {
  await tx.run(waitAgainSql, [scope.tenantId, jobId]);
  const job = await reread(tx, scope, jobId);
  if (!isTerminal(job.status)) return job;
  const detail = "What this job waited for has not happened: retry its parent first, or retry it with a payload.";
  throw new QueueError("state-conflict", detail, { current: job.status });
}

async function retryEdited(
  tx: TenantTransaction,
  scope: TenantScope,
  { jobId, payload }: { readonly jobId: string; readonly payload: unknown },
): Promise<Retried> {
  const outcome = await lockRetryable(tx, scope, jobId);
  const enqueued = await enqueueJob(tx, scope, copyOf(await reread(tx, scope, jobId), payload));
  await auditJob(tx, scope, { jobId, action: "retry_edited", from: outcome.outcome, to: outcome.outcome });
  return { job: await reread(tx, scope, enqueued.jobId), created: true };
}

/** The same request with another payload. No dedupe key: the old job's key stands for the old payload. */
function copyOf(job: JobView, payload: unknown): NewJob {
  return {
    definitionKey: job.definitionKey,
    payload,
    queue: job.queue,
    priority: job.priority,
    tags: job.tags,
    metadata: job.metadata ?? {},
    maxAttempts: job.maxAttempts,
    retriedFromId: job.id,
    ...(job.correlationId === null ? {} : { correlationId: job.correlationId }),
  };
}

async function lockRetryable(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<OutcomeRow> {
  const [outcome] = await tx.run<OutcomeRow>(lockOutcomeSql, [scope.tenantId, jobId]);
  if (!outcome) throw await notFinished(tx, scope, jobId);
  if (!isRetryable(outcome.outcome)) {
    throw new QueueError("state-conflict", `A job that ${outcome.outcome} cannot be retried; enqueue it anew.`, {
      current: outcome.outcome,
    });
  }
  if (!outcome.is_active) throw new QueueError("definition-inactive", "The definition of this job is switched off.");
  return outcome;
}

async function notFinished(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<QueueError> {
  const job = await getJob(tx, scope, jobId);
  if (!job) return jobNotFound();
  return new QueueError("state-conflict", `The job is ${job.status} and has not ended.`, { current: job.status });
}

async function takeKeyAgain(tx: TenantTransaction, key: readonly string[], dedupeKey: string): Promise<void> {
  const [holder] = await tx.run<{ job_id: string }>(takeKeySql, [...key, dedupeKey]);
  if (holder?.job_id !== key[1]) {
    throw new QueueError("dedupe-taken", "Another job holds this job's dedupe key.");
  }
  await tx.run(reviveKeySql, [...key, dedupeKey]);
}

async function reread(tx: TenantTransaction, scope: TenantScope, jobId: string): Promise<JobView> {
  const job = await getJob(tx, scope, jobId);
  if (!job) throw await alreadyEnded(tx, scope, jobId);
  return job;
}
