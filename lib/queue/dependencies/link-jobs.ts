import { type Database, type TenantTransaction, withTenant } from "@/lib/db";
import type { NewJob, TenantScope } from "../types";
import { knownJobsSql } from "./dependencies.sql";
import { isLinked, type Linked, linkJobs, outerParents } from "./link-jobs.policy";

interface Batch {
  readonly jobs: readonly NewJob[];
  /** Where a job stands in the request, as a JSON pointer. */
  readonly at: (index: number) => string;
}

/**
 * Works out the edges of jobs of which some wait for others. Existing parents are looked up first in a transaction of the
 * caller, because a refusal by the database would abort it; otherwise the database refuses and `linkKnown` says which.
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

/** As `planLinks`, after a look at the existing parents. An id of another tenant's job is answered like one that no job has. */
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
