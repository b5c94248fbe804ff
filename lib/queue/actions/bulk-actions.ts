import type { Database, TenantTransaction } from "@/lib/db";
import { bulkActionNotFound, QueueError } from "../errors";
import { getJobRows, inTenant } from "../read/get-job";
import { HIGHEST_ID } from "../read/list-jobs";
import type { TenantScope } from "../types";
import { checkChosenAction, eligibleStatuses } from "./bulk-action.policy";
import {
  acceptBulkActionSql,
  countOpenActionsSql,
  jobsInStatusSql,
  lockOpenActionsSql,
  newIdSql,
  requestAbortSql,
} from "./bulk-actions.sql";
import { getBulkAction } from "./read-bulk-actions";
import type { BulkTarget, ChosenAction, JobAction, JobActionPreview } from "./types";
import { countTarget, nextJobs } from "./walk-jobs";

const SAMPLES = 20;
/** Maximum unfinished actions of one tenant. */
const MOST_OPEN = 20;

/** A bulk action and its target. */
export interface BulkRequest extends ChosenAction {
  readonly target: BulkTarget;
}

/**
 * Previews a bulk action without changing anything: the number of jobs for which it is legal, and the newest of them.
 * @throws QueueError invalid-value
 */
export function previewBulkAction(
  db: Database | TenantTransaction,
  scope: TenantScope,
  request: BulkRequest,
): Promise<JobActionPreview> {
  return inTenant(db, scope, async (tx) => {
    const { target, statuses } = narrow(request);
    const { count, isExact } = await countTarget(tx, scope, target, statuses);
    const samples = await getJobRows(tx, scope, await newest(tx, scope, { target, statuses }));
    return { dry_run: true, action: request.action, count, count_relation: isExact ? "eq" : "gte", samples };
  });
}

async function newest(
  tx: TenantTransaction,
  scope: TenantScope,
  { target, statuses }: { readonly target: BulkTarget; readonly statuses: readonly string[] },
): Promise<string[]> {
  if (!("job_ids" in target)) {
    return [...(await nextJobs(tx, scope, target, { beforeId: HIGHEST_ID, limit: SAMPLES })).ids];
  }
  const rows = await tx.run<{ id: string }>(jobsInStatusSql, [scope.tenantId, target.job_ids, statuses]);
  return rows.slice(0, SAMPLES).map((row) => row.id);
}

/**
 * Accepts an action on many jobs, which the leading scheduler processes on behalf of this actor. The set of jobs is
 * fixed when the action is accepted: the given ids, or the existing jobs that match the filter. A job that does not
 * match when its turn comes is skipped.
 * @throws QueueError invalid-value; too-many-actions
 */
export function acceptBulkAction(
  db: Database | TenantTransaction,
  scope: TenantScope,
  request: BulkRequest,
): Promise<JobAction> {
  return inTenant(db, scope, async (tx) => {
    const { target, statuses } = narrow(request);
    await refuseTooMany(tx, scope);
    const [bound] = await tx.run<{ id: string }>(newIdSql);
    const total =
      "job_ids" in target
        ? { count: target.job_ids.length, isExact: true }
        : await countTarget(tx, scope, target, statuses);
    const [accepted] = await tx.run<{ id: string }>(acceptBulkActionSql, [
      scope.tenantId,
      request.action,
      request.priority ?? null,
      request.scheduled_for ?? null,
      JSON.stringify(target),
      "job_ids" in target ? HIGHEST_ID : bound?.id,
      total.count,
      total.isExact,
      scope.actor.kind,
      scope.actor.id,
      scope.actor.userId,
      scope.actor.requestId ?? null,
    ]);
    return readAction(tx, scope, accepted?.id ?? "");
  });
}

async function refuseTooMany(tx: TenantTransaction, scope: TenantScope): Promise<void> {
  await tx.run(lockOpenActionsSql, [scope.tenantId]);
  const [open] = await tx.run<{ n: number }>(countOpenActionsSql, [scope.tenantId]);
  if ((open?.n ?? 0) < MOST_OPEN) return;
  throw new QueueError("too-many-actions", `${MOST_OPEN} actions of this tenant are open. Wait for one, or abort one.`);
}

/** Returns the target as stored: ids from newest to oldest, each once; a filter keeps only the eligible statuses. */
function narrow(request: BulkRequest): { target: BulkTarget; statuses: readonly string[] } {
  const problems = checkChosenAction(request);
  if (problems.length > 0) throw new QueueError("invalid-value", "The action is not valid.", { problems });
  const { action, target } = request;
  if ("job_ids" in target) {
    const jobIds = [...new Set(target.job_ids.map((id) => id.toLowerCase()))].sort().reverse();
    return { target: { job_ids: jobIds }, statuses: eligibleStatuses(action) };
  }
  if ("dead_letters" in target) return { target, statuses: eligibleStatuses(action) };
  const status = eligibleStatuses(action, target.filter.status);
  return { target: { filter: { ...target.filter, status } }, statuses: status };
}

/**
 * Ends an action after its current chunk. Finished work is kept.
 * @throws QueueError not-found; action-over
 */
export function abortBulkAction(
  db: Database | TenantTransaction,
  scope: TenantScope,
  actionId: string,
): Promise<JobAction> {
  return inTenant(db, scope, async (tx) => {
    const asked = await tx.run(requestAbortSql, [scope.tenantId, actionId]);
    const action = await readAction(tx, scope, actionId);
    if (asked.length === 0) throw new QueueError("action-over", `The action has ended: ${action.status}.`);
    return action;
  });
}

async function readAction(tx: TenantTransaction, scope: TenantScope, id: string): Promise<JobAction> {
  const action = await getBulkAction(tx, scope, id);
  if (!action) throw bulkActionNotFound();
  return action;
}
