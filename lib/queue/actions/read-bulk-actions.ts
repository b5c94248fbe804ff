import type { Database, TenantTransaction } from "@/lib/db";
import { inTenant } from "../read/get-job";
import { COUNTED_JOBS } from "../read/list-jobs";
import type { BulkActionName, BulkStatus } from "../states";
import type { Actor, JobFilter, Page, TenantScope } from "../types";
import { bulkResultsSql, countBulkActionsSql, getBulkActionSql, listBulkActionsSql } from "./bulk-actions.sql";
import type { BulkActionView, BulkPosition, BulkResult, BulkTarget } from "./types";

type Tenant = Pick<TenantScope, "tenantId">;

interface ActionRow {
  readonly id: string;
  readonly action: BulkActionName;
  readonly priority: number | null;
  readonly scheduled_for: Date | null;
  readonly target: unknown;
  readonly status: BulkStatus;
  readonly stop_reason: string | null;
  readonly total: number;
  readonly total_is_exact: boolean;
  readonly done_count: number;
  readonly skipped_count: number;
  readonly failed_count: number;
  readonly actor_kind: Actor["kind"];
  readonly actor_id: string | null;
  readonly user_email: string | null;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly abort_requested_at: Date | null;
}

/** Returns a stored target, with its times as Dates. */
export function targetOf(stored: unknown): BulkTarget {
  const target = stored as BulkTarget;
  if (!("filter" in target)) return target;
  const { created_after: createdAfter, created_before: createdBefore, ...rest } = target.filter as JobFilter & Record<string, unknown>;
  const filter: JobFilter = {
    ...rest,
    ...(createdAfter ? { created_after: new Date(createdAfter) } : {}),
    ...(createdBefore ? { created_before: new Date(createdBefore) } : {}),
  };
  return { filter };
}

function toView(row: ActionRow): BulkActionView {
  return {
    id: row.id,
    action: row.action,
    ...(row.priority === null ? {} : { priority: row.priority }),
    ...(row.scheduled_for === null ? {} : { scheduled_for: row.scheduled_for }),
    target: targetOf(row.target),
    status: row.status,
    stop_reason: row.stop_reason,
    total: row.total,
    total_is_exact: row.total_is_exact,
    done: row.done_count,
    skipped: row.skipped_count,
    failed: row.failed_count,
    actor: { kind: row.actor_kind, id: row.actor_id, email: row.user_email },
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    abort_requested_at: row.abort_requested_at,
  };
}

export interface BulkActionPage {
  readonly actions: readonly BulkActionView[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

/** Lists the bulk actions of a tenant, newest first. */
export function listBulkActions(
  db: Database | TenantTransaction,
  scope: Tenant,
  { limit, offset = 0, afterId }: Page,
): Promise<BulkActionPage> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<ActionRow>(listBulkActionsSql, [scope.tenantId, afterId ?? null, limit + 1, offset]);
    const [counted] = await tx.run<{ n: number }>(countBulkActionsSql, [scope.tenantId, COUNTED_JOBS + 1]);
    const total = counted?.n ?? 0;
    return {
      actions: rows.slice(0, limit).map(toView),
      hasMore: rows.length > limit,
      total: Math.min(total, COUNTED_JOBS),
      totalRelation: total > COUNTED_JOBS ? "gte" : "eq",
    };
  });
}

/** Returns one bulk action; null if this tenant has no such action. */
export function getBulkAction(
  db: Database | TenantTransaction,
  scope: Tenant,
  id: string,
): Promise<BulkActionView | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<ActionRow>(getBulkActionSql, [scope.tenantId, id]);
    return row ? toView(row) : null;
  });
}

export interface ResultsRequest {
  readonly limit: number;
  readonly after?: BulkPosition;
  /** Returns only jobs with one of these results. */
  readonly codes?: readonly BulkResult["code"][];
}

/** Lists the result of each job of an action, in the order of processing; null if there is no such action. */
export function listBulkResults(
  db: Database | TenantTransaction,
  scope: Tenant,
  id: string,
  { limit, after, codes }: ResultsRequest,
): Promise<{ readonly results: readonly BulkResult[]; readonly hasMore: boolean } | null> {
  return inTenant(db, scope, async (tx) => {
    if (!(await getBulkAction(tx, scope, id))) return null;
    const rows = await tx.run<{ chunk_no: number; place: number; job_id: string; result: BulkResult["code"] }>(
      bulkResultsSql,
      [scope.tenantId, id, after?.chunkNo ?? 0, after?.place ?? 0, codes ?? null, limit + 1],
    );
    const results = rows
      .slice(0, limit)
      .map((row) => ({ jobId: row.job_id, code: row.result, position: { chunkNo: row.chunk_no, place: row.place } }));
    return { results, hasMore: rows.length > limit };
  });
}
