import type { Database, TenantTransaction } from "@/lib/db";
import { answeredSql } from "../dead-letters/dead-letters.sql";
import { waitAgainSql } from "../dependencies/dependencies.sql";
import { enqueueJob } from "../enqueue/enqueue-jobs";
import { jobNotFound } from "../errors";
import { notifyChanges, notifyWork } from "../notify";
import { getJob, inTenant } from "../read/get-job";
import { isRetryable, type JobStatus, type TerminalState } from "../states";
import type { Job, NewJob, TenantScope } from "../types";
import { type ActionRow, type ActionSpec, applyActionToOne, idsOf, readStatuses } from "./apply-action";
import {
  blockedByParentsSql,
  giveKeysBackSql,
  lockOutcomesSql,
  ownSettingsSql,
  reviveKeysSql,
  startRunsSql,
  takeKeysSql,
} from "./retry-job.sql";
import type { ActionRefusal } from "./types";

interface OutcomeRow extends ActionRow {
  readonly status: TerminalState;
  readonly attempt_no: number;
  readonly dedupe_key: string | null;
  readonly is_active: boolean;
}

export interface Retried {
  readonly job: Job;
  /** True if an edited payload made a new job; the old job is unchanged. */
  readonly created: boolean;
}

const lockOutcomes = (tx: TenantTransaction, jobIds: readonly string[]): Promise<OutcomeRow[]> =>
  tx.run<OutcomeRow>(lockOutcomesSql, [tx.tenantId, jobIds]);

/** Runs finished jobs again, as the same jobs in their next runs. */
export const RETRY: ActionSpec<OutcomeRow> = {
  action: "retry",
  lock: lockOutcomes,
  refuse: refuseRetry,
  refuseMore: async (tx, jobs) => {
    const blocked = await findBlocked(tx, jobs, []);
    const free = jobs.filter((job) => !blocked.has(job.job_id));
    const taken = await takeKeysAgain(tx, free);
    // A job that does not get its key begins no run, which blocks its children too.
    const blockedThen = taken.length === 0 ? blocked : await findBlocked(tx, jobs, taken);
    const late = free.filter((job) => blockedThen.has(job.job_id) && job.dedupe_key !== null);
    if (late.length > 0) await tx.run(giveKeysBackSql, [tx.tenantId, idsOf(late)]);
    const refused = new Map<string, ActionRefusal>([...blockedThen].map((jobId) => [jobId, "held-by-parent"]));
    for (const jobId of taken) refused.set(jobId, "dedupe-taken");
    return refused;
  },
  write: startRuns,
};

/** Retries as RETRY does, but dead letters only. */
export const REDRIVE: ActionSpec<OutcomeRow> = {
  ...RETRY,
  action: "redrive",
  refuse: (job) => (job.status === "dead_letter" ? refuseRetry(job) : "state-conflict"),
};

function refuseRetry(job: OutcomeRow): ActionRefusal | null {
  if (!isRetryable(job.status)) return "state-conflict";
  return job.is_active ? null : "definition-inactive";
}

async function findBlocked(tx: TenantTransaction, jobs: readonly ActionRow[], refused: readonly string[]) {
  const rows = await tx.run<{ job_id: string }>(blockedByParentsSql, [tx.tenantId, idsOf(jobs), refused]);
  return new Set(rows.map((row) => row.job_id));
}

/** Takes the jobs' dedupe keys for them again, and returns the jobs whose key another job holds. */
async function takeKeysAgain(tx: TenantTransaction, jobs: readonly OutcomeRow[]): Promise<string[]> {
  const keyed = jobs.flatMap((job) => (job.dedupe_key === null ? [] : [{ ...job, key: job.dedupe_key }]));
  if (keyed.length === 0) return [];
  const keysOf = (those: typeof keyed) => those.map((job) => job.key);
  const holders = await tx.run<{ key: string; job_id: string }>(takeKeysSql, [
    tx.tenantId,
    idsOf(keyed),
    keysOf(keyed),
  ]);
  const holderOf = new Map(holders.map((holder) => [holder.key, holder.job_id]));
  const own = keyed.filter((job) => holderOf.get(job.key) === job.job_id);
  await tx.run(reviveKeysSql, [tx.tenantId, idsOf(own), keysOf(own)]);
  return keyed.filter((job) => holderOf.get(job.key) !== job.job_id).map((job) => job.job_id);
}

// A job whose parents had not done what it waited for is blocked by them again, so a retry cannot run it before them.
async function startRuns(tx: TenantTransaction, jobs: readonly OutcomeRow[]): Promise<ActionRow[]> {
  const attempts = jobs.map((job) => job.attempt_no);
  const started = await tx.run<{ job_id: string; lane_no: number }>(startRunsSql, [tx.tenantId, idsOf(jobs), attempts]);
  await tx.run(waitAgainSql, [tx.tenantId, idsOf(started)]);
  const lanes = started.map((job) => job.lane_no);
  tx.afterCommit((pool) => {
    notifyWork(pool, lanes);
    notifyChanges(pool, lanes);
  });
  const now = new Map<string, JobStatus>();
  for (const { job_id, status } of await readStatuses(tx, tx, idsOf(started))) now.set(job_id, status);
  return started.map((job) => ({ ...job, status: now.get(job.job_id) ?? "queued" }));
}

/**
 * Runs a finished job again. Without a payload, the same job begins its next run: the attempts are counted from 0, and
 * the history stays. With a payload, a new job is enqueued that refers to the old one and has no dependencies; the
 * payload is checked as in every enqueue. The new job's chain depth is the old job's, or `chainDepth` if that is more.
 * A job that ended because of a parent waits for the parent again. If that parent has ended without doing what the job
 * waits for, the retry is a state-conflict.
 * @throws QueueError not-found; state-conflict unless failed, dead_letter, canceled or expired, or see above;
 *   dedupe-taken; definition-inactive; payload-invalid
 */
export async function retryJob(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { jobId, payload, chainDepth = 0 }: EditedRetry,
): Promise<Retried> {
  if (payload === undefined) return { job: await applyActionToOne(db, scope, { spec: RETRY, jobId }), created: false };
  return inTenant(db, scope, async (tx) => {
    let created: string | undefined;
    const edited: ActionSpec<OutcomeRow> = {
      action: "retry_edited",
      lock: lockOutcomes,
      refuse: refuseRetry,
      write: async (_, jobs) => {
        created = await enqueueEdited(tx, scope, { jobId, payload, chainDepth });
        const dead = jobs.filter((job) => job.status === "dead_letter");
        if (dead.length > 0) await tx.run(answeredSql, [tx.tenantId, idsOf(dead), created, scope.actor.userId]);
        return jobs;
      },
    };
    const old = await applyActionToOne(tx, scope, { spec: edited, jobId });
    const job = created === undefined ? old : await getJob(tx, scope, created);
    if (!job) throw jobNotFound();
    return { job, created: true };
  });
}

interface EditedRetry {
  readonly jobId: string;
  readonly payload?: unknown;
  /** Number of jobs before the caller's request in its chain of causes; 0 for a person. */
  readonly chainDepth?: number;
}

interface OwnSettings {
  readonly chain_depth: number;
  readonly timeout_seconds: number | null;
  readonly retry_delay_seconds: number | null;
  readonly retry_multiplier: number | null;
}

/**
 * Enqueues the same request with another payload. It has no dedupe key, because the old key stands for the old payload.
 */
async function enqueueEdited(
  tx: TenantTransaction,
  scope: TenantScope,
  { jobId, payload, chainDepth = 0 }: EditedRetry,
): Promise<string> {
  const job = await getJob(tx, scope, jobId);
  const [own] = await tx.run<OwnSettings>(ownSettingsSql, [scope.tenantId, jobId]);
  if (!job || !own) throw jobNotFound();
  const optional = {
    correlationId: job.correlation_id,
    parentJobId: job.parent_job_id,
    timeoutSeconds: own.timeout_seconds,
    retryDelaySeconds: own.retry_delay_seconds,
    retryMultiplier: own.retry_multiplier,
  };
  const copy: NewJob = {
    definitionKey: job.definition_key,
    payload,
    queue: job.queue,
    priority: job.priority,
    tags: job.tags,
    metadata: job.metadata ?? {},
    maxAttempts: job.max_attempts,
    retriedFromId: job.id,
    chainDepth: Math.max(own.chain_depth, chainDepth),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
  return (await enqueueJob(tx, scope, copy)).jobId;
}
