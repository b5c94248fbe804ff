import type { Database, TenantTransaction } from "@/lib/db";
import { inTenant } from "../read/get-job";
import { COUNTED_JOBS } from "../read/list-jobs";
import type { Page, TenantScope } from "../types";
import { bulkResultsSql, countBulkActionsSql, getBulkActionSql, listBulkActionsSql } from "./bulk-actions.sql";
import type { BulkPosition, BulkResult, BulkTarget, JobAction } from "./types";

type Tenant = Pick<TenantScope, "tenantId">;

type ActionRow = Omit<JobAction, "filter"> & { readonly target: BulkTarget };

const toAction = ({ target, ...row }: ActionRow): JobAction => ({ ...row, filter: filterOf(target) });

/** Returns a target as the API answers it: with one source, as the job list has it. */
function filterOf(target: BulkTarget): unknown {
  if ("job_ids" in target) return null;
  if ("dead_letters" in target) return { dead_letters: target.dead_letters };
  const { source, ...filter } = target.filter;
  return { ...filter, ...(source?.[0] === undefined ? {} : { source: source[0] }) };
}

export interface BulkActionPage {
  readonly actions: readonly JobAction[];
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
      actions: rows.slice(0, limit).map(toAction),
      hasMore: rows.length > limit,
      total: Math.min(total, COUNTED_JOBS),
      totalRelation: total > COUNTED_JOBS ? "gte" : "eq",
    };
  });
}

/** Returns one bulk action; null if this tenant has no such action. */
export function getBulkAction(db: Database | TenantTransaction, scope: Tenant, id: string): Promise<JobAction | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<ActionRow>(getBulkActionSql, [scope.tenantId, id]);
    return row ? toAction(row) : null;
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
