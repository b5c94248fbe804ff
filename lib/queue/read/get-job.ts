/**
 * Reads: jobs, lists, attempts, output, summaries and feeds, for the API and the pages.
 * Every read is confined to one tenant. The cost of a page does not depend on the length of the history, and pages of
 * text are bounded by bytes.
 * Start with `getJob` here and `listJobs`. read-jobs.sql.ts defines the columns of a job, and wait-reason.policy.ts
 * explains why a job waits.
 */
import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import type { Job, JobRow, TenantScope } from "../types";
import { getJobSql, jobsByIdSql } from "./read-jobs.sql";
import { type JobRead, toJob } from "./view";
import { readWaitFacts } from "./wait-facts";

/** Runs a read in its tenant's transaction. Joins the caller's transaction if there is one. */
export function inTenant<T>(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  read: (tx: TenantTransaction) => Promise<T>,
): Promise<T> {
  return "inTransaction" in db ? read(db) : withTenant(db, scope.tenantId, read);
}

/** Returns one job with payload and result; null if this tenant has no such job. */
export function getJob(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  jobId: string,
): Promise<Job | null> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<JobRead<Job>>(getJobSql, [scope.tenantId, jobId]);
    return (await withReasons(tx, scope, rows))[0] ?? null;
  });
}

/**
 * Returns the given jobs without payloads, newest first, each with the same wait reason as `getJob`. Jobs of other
 * tenants are left out.
 */
export async function getJobRows(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobRow[]> {
  return withReasons(tx, scope, await readRows(tx, scope, ids));
}

/**
 * Like `getJobRows`, for a feed that reads hundreds of jobs each second. The wait reason comes from the job's row
 * alone, so it names neither a limit, nor the position in line, nor the parents.
 */
export async function getFeedRows(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobRow[]> {
  return (await readRows(tx, scope, ids)).map((row) => toJob(row));
}

const readRows = async (
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<JobRead[]> => (ids.length === 0 ? [] : tx.run<JobRead>(jobsByIdSql, [tenantId, ids]));

async function withReasons<J extends JobRow | Job>(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  rows: readonly JobRead<J>[],
): Promise<J[]> {
  const facts = await readWaitFacts(tx, scope, rows);
  return rows.map((row) => toJob(row, facts.get(row.id)));
}
