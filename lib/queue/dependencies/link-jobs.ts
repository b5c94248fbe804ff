/**
 * Dependencies: a job can wait for other jobs (its parents). It is blocked until each parent has done what it waits
 * for, and is then queued. If a parent ends otherwise, the job is canceled, fails or runs, as its on_failure says. The
 * release commits with the parent's end, or goes to the release backlog in the same transaction, so no dependent is
 * forgotten.
 *
 * Start with `linkJobs` in link-jobs.policy.ts, which checks the edges of new jobs; then RELEASED in
 * dependencies.sql.ts. The SQL functions are in drizzle/functions/link.sql and release.sql. sweep-dependents.ts has the
 * leader's part.
 */
import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import type { NewJob, TenantScope } from "../types";
import { knownJobsSql } from "./dependencies.sql";
import { isLinked, type Linked, linkJobs, outerParents } from "./link-jobs.policy";

interface Batch {
  readonly jobs: readonly NewJob[];
  /** Returns the JSON pointer of a job in the request. */
  readonly at: (index: number) => string;
}

/**
 * Resolves the edges of jobs that have parents. In a caller's transaction, existing parents are read first, because a
 * refusal by the database would abort the transaction. Otherwise the database refuses, and `linkKnown` finds the
 * parent.
 * @throws QueueError invalid-value with pointers
 */
export async function planLinks(
  db: Database | TenantTransaction,
  scope: TenantScope,
  batch: Batch,
): Promise<readonly Linked[]> {
  if ("inTransaction" in db && outerParents(batch.jobs).length > 0) return linkKnown(db, scope, batch);
  return linkJobs(batch.jobs, batch);
}

/**
 * Resolves edges as `planLinks` does, after reading the existing parents. The id of another tenant's job gives the same
 * error as an id that no job has.
 * @throws QueueError invalid-value with pointers
 */
export async function linkKnown(
  db: Database | TenantTransaction,
  { tenantId }: TenantScope,
  { jobs, at }: Batch,
): Promise<readonly Linked[]> {
  const look = (tx: TenantTransaction) => tx.run<{ id: string }>(knownJobsSql, [tenantId, outerParents(jobs)]);
  const rows = await ("inTransaction" in db ? look(db) : withTenant(db, tenantId, look));
  return linkJobs(jobs, { at, known: rows.map(({ id }) => id) });
}

export const areLinked = (jobs: readonly NewJob[]): boolean => jobs.some(isLinked);
