/**
 * Actions: what people and API keys do to jobs (cancel, retry, redrive, pause, resume, change). An action locks its
 * jobs in the order of their ids, decides, writes and audits in one transaction.
 *
 * Start with `applyAction`; cancel-job.ts, change-jobs.ts and retry-job.ts define the actions. A bulk action is accepted
 * in bulk-actions.ts and processed in chunks by the leading scheduler (work-off-bulk-action.ts).
 */
import type { Database, TenantTransaction } from "@/lib/db";
import { jobNotFound, QueueError } from "../errors";
import { getJob, inTenant } from "../read/get-job";
import { isTerminal, type JobStatus } from "../states";
import type { Job, TenantScope } from "../types";
import { auditJobsSql, statusesSql } from "./change-jobs.sql";
import type { ActionRefusal, ActionResult } from "./types";

export interface ActionRow {
  readonly job_id: string;
  readonly status: JobStatus;
  readonly lane_no: number;
  /** True if the job already was as the action wants it; such a job is not audited. */
  readonly unchanged?: boolean;
}

/** One kind of action, for one job or many. */
export interface ActionSpec<R extends ActionRow> {
  /** The action's name in the audit. */
  readonly action: string;
  /** Locks those of the jobs that the action may change, in the order of their ids. */
  readonly lock: (tx: TenantTransaction, jobIds: readonly string[]) => Promise<readonly R[]>;
  /** Returns null if the action is legal for this job, otherwise why it is refused. */
  readonly refuse: (job: R) => ActionRefusal | null;
  /** Refuses jobs for reasons that take a query. */
  readonly refuseMore?: (tx: TenantTransaction, jobs: readonly R[]) => Promise<ReadonlyMap<string, ActionRefusal>>;
  /** Changes jobs that are locked and legal, and returns their new statuses. */
  readonly write: (tx: TenantTransaction, jobs: readonly R[]) => Promise<readonly ActionRow[]>;
}

export interface ChosenJobs {
  readonly jobIds: readonly string[];
  /** Stored in the audit, beside the actor. */
  readonly reason?: string;
}

export const idsOf = (jobs: readonly { job_id: string }[]): string[] => jobs.map((job) => job.job_id);

/**
 * Applies one action to many jobs of a tenant. Returns one result per id, in their order: done, or why the action was
 * refused. The jobs are locked first, so no job changes between the decision and the write. Each change is audited. An
 * action that changes nothing is answered as done and writes no audit row.
 */
export async function applyAction<R extends ActionRow>(
  tx: TenantTransaction,
  scope: TenantScope,
  spec: ActionSpec<R>,
  chosen: ChosenJobs,
): Promise<ActionResult[]> {
  const locked = await spec.lock(tx, chosen.jobIds);
  const results = new Map<string, ActionResult>();
  const refuse = (job: R, code: ActionRefusal | null | undefined) =>
    code ? results.set(job.job_id, { jobId: job.job_id, code, status: job.status }) : undefined;
  for (const job of locked) refuse(job, spec.refuse(job));
  const open = () => locked.filter((job) => !results.has(job.job_id));
  const more = open().length === 0 ? undefined : await spec.refuseMore?.(tx, open());
  for (const job of open()) refuse(job, more?.get(job.job_id));
  const legal = open();
  const moved = legal.length === 0 ? [] : await spec.write(tx, legal);
  for (const { job_id, status } of moved) results.set(job_id, { jobId: job_id, code: "done", status });
  await audit(tx, scope, { action: spec.action, reason: chosen.reason, locked: legal, moved });
  const missing = chosen.jobIds.filter((id) => !results.has(id));
  for (const { job_id, status } of await readStatuses(tx, scope, missing))
    results.set(job_id, { jobId: job_id, code: "state-conflict", status });
  return chosen.jobIds.map((jobId) => results.get(jobId) ?? { jobId, code: "not-found", status: null });
}

/** Returns the statuses of the tenant's jobs; other ids are left out. */
export async function readStatuses(
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<ActionRow[]> {
  return ids.length === 0 ? [] : tx.run<ActionRow>(statusesSql, [tenantId, ids]);
}

interface Audited {
  readonly action: string;
  readonly reason: string | undefined;
  readonly locked: readonly ActionRow[];
  readonly moved: readonly ActionRow[];
}

/** Records in the audit who did what to jobs, in the transaction of the action. */
export async function audit(tx: TenantTransaction, { tenantId, actor }: TenantScope, done: Audited): Promise<void> {
  const moved = done.moved.filter((job) => !job.unchanged);
  if (moved.length === 0) return;
  const from = new Map(done.locked.map((job) => [job.job_id, job.status]));
  await tx.run(auditJobsSql, [
    tenantId,
    idsOf(moved),
    actor.kind,
    actor.id,
    done.action,
    actor.requestId ?? null,
    done.reason ?? null,
    moved.map((job) => from.get(job.job_id)),
    moved.map((job) => job.status),
  ]);
}

/**
 * Applies an action to one job and returns the job.
 * @throws QueueError where `applyAction` would return a refusal
 */
export function applyActionToOne<R extends ActionRow>(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { spec, jobId }: { readonly spec: ActionSpec<R>; readonly jobId: string },
): Promise<Job> {
  return inTenant(db, scope, async (tx) => {
    const [result] = await applyAction(tx, scope, spec, { jobIds: [jobId] });
    if (result && result.code !== "done") throw refusal(spec.action, result);
    const job = await getJob(tx, scope, jobId);
    if (!job) throw jobNotFound();
    return job;
  });
}

function refusal(action: string, { code, status }: ActionResult): QueueError {
  if (code === "not-found" || status === null) return jobNotFound();
  if (code === "invalid-value") {
    const problems = [{ pointer: "/scheduled_for", code: "order", detail: "must be before the job's expires_at" }];
    return new QueueError("invalid-value", "The job would expire before it is due.", { problems });
  }
  if (code === "dedupe-taken") return new QueueError(code, "Another job holds this job's dedupe key.");
  if (code === "definition-inactive") return new QueueError(code, "The definition of this job is disabled.");
  return new QueueError("state-conflict", conflictText(action, { code, status }), { current: status });
}

const PARTICIPLES: Readonly<Record<string, string>> = {
  cancel: "canceled",
  pause: "paused",
  resume: "resumed",
  change: "changed",
  retry: "retried",
  retry_edited: "retried with another payload",
  redrive: "redriven",
};

function conflictText(action: string, { code, status }: { code: ActionResult["code"]; status: JobStatus }): string {
  if (code === "held-by-parent")
    return "The job's parent did not succeed. Retry the parent first, or retry the job with a payload.";
  if (action === "cancel") return `The job has ended: ${status}.`;
  if (action.startsWith("retry") && !isTerminal(status)) return `The job is ${status} and has not ended.`;
  return `The job is ${status} and cannot be ${PARTICIPLES[action] ?? action}.`;
}
