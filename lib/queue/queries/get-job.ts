import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import type { PlaceInLane } from "../policy/wait-reason";
import { pendingParentsSql } from "../sql/dependencies";
import { getJobSql, jobsByIdSql, placeInLaneSql } from "../sql/read-jobs";
import type { JobView, TenantScope } from "../types";
import { type JobRow, toJobView } from "./view";

/** Gives a read its tenant's transaction, unless the caller has one already. */
export function inTenant<T>(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  read: (tx: TenantTransaction) => Promise<T>,
): Promise<T> {
  return "inTransaction" in db ? read(db) : withTenant(db, scope.tenantId, read);
}

/** One job with payload and result; null when this tenant has no such job. */
export function getJob(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
): Promise<JobView | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<JobRow>(getJobSql, [scope.tenantId, jobId]);
    if (!row) return null;
    const counts = row.status === "queued" && row.is_future === false && row.lane_no !== null;
    const [place] = counts
      ? await tx.run<{ place: PlaceInLane }>(placeInLaneSql, [scope.tenantId, row.lane_no, row.sort_key])
      : [];
    return toJobView(row, { place: place?.place, blockedBy: await blockedBy(tx, scope, row) });
  });
}

async function blockedBy(tx: TenantTransaction, { tenantId }: Pick<TenantScope, "tenantId">, row: JobRow) {
  if (row.status !== "blocked") return undefined;
  const rows = await tx.run<{ job_id: string; definition_key: string; n: number }>(pendingParentsSql, [
    tenantId,
    row.id,
  ]);
  const first = rows.map(({ job_id, definition_key }) => ({ jobId: job_id, definitionKey: definition_key }));
  return { first, count: rows[0]?.n ?? 0 };
}

/** The given jobs as lists show them, newest first; those that are not this tenant's are left out. */
export async function getJobRows(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobView[]> {
  if (ids.length === 0) return [];
  return (await tx.run<JobRow>(jobsByIdSql, [scope.tenantId, ids])).map((row) => toJobView(row));
}
