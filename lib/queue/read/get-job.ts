import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import type { JobView, TenantScope } from "../types";
import { getJobSql, jobsByIdSql } from "./read-jobs.sql";
import { type JobRow, toJobView } from "./view";
import { readWaitFacts } from "./wait-facts";

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
    const rows = await tx.run<JobRow>(getJobSql, [scope.tenantId, jobId]);
    return (await withReasons(tx, scope, rows))[0] ?? null;
  });
}

/**
 * The given jobs as lists show them, newest first, each with the wait reason that its own page gives. Jobs that are not
 * this tenant's are left out.
 */
export async function getJobRows(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobView[]> {
  return withReasons(tx, scope, await readRows(tx, scope, ids));
}

/**
 * The same for a feed, which looks at hundreds of jobs each second: the wait reason is told by the job's row alone, so it
 * names neither a limit, nor the place in line, nor the parents.
 */
export async function getFeedRows(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobView[]> {
  return (await readRows(tx, scope, ids)).map((row) => toJobView(row));
}

const readRows = async (
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobRow[]> => (ids.length === 0 ? [] : tx.run<JobRow>(jobsByIdSql, [tenantId, ids]));

async function withReasons(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  rows: readonly JobRow[],
): Promise<JobView[]> {
  const facts = await readWaitFacts(tx, scope, rows);
  return rows.map((row) => toJobView(row, facts.get(row.id)));
}
