/**
 * Dead letters: jobs that failed for good and have not been run again. The job's last attempt says that it is a dead
 * letter; app.dead_letters has only the triage of a run (its status and note).
 *
 * Start with `listDeadLetters`, then `triageDeadLetter` in triage-dead-letter.ts. Redriving unchanged is an action: see
 * REDRIVE in lib/queue/actions/retry-job.ts.
 */
import type { Database, TenantTransaction } from "@/lib/db";
import type { DeadLetter, DeadLetterFilter, JobEvent } from "../actions/types";
import { getJob, getJobRows, inTenant } from "../read/get-job";
import { COUNTED_JOBS } from "../read/list-jobs";
import { newestRetriesSql } from "../read/read-jobs.sql";
import type { JobRow, Page, TenantScope } from "../types";
import {
  countDeadLettersSql,
  getDeadLetterSql,
  jobEventsSql,
  listDeadLettersSql,
  walkDeadLettersSql,
} from "./dead-letters.sql";

type Tenant = Pick<TenantScope, "tenantId">;

type TriageRow = Omit<DeadLetter, "id" | "job" | "retried_by_id"> & {
  readonly job_id: string;
  readonly run_no: number;
};

interface RetryRow {
  readonly job_id: string;
  readonly retried_by_id: string;
}

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[];
  readonly hasMore: boolean;
  readonly total: number;
  readonly totalRelation: "eq" | "gte";
}

const valuesOf = ({ tenantId }: Tenant, filter: DeadLetterFilter, beforeId: string | null): unknown[] => [
  tenantId,
  beforeId,
  filter.status?.length ? filter.status : null,
  filter.error_type ?? null,
  filter.definition_key ?? null,
];

/** Lists the tenant's jobs that failed for good and were not put back, newest first, with their triage. */
export function listDeadLetters(
  db: Database | TenantTransaction,
  scope: Tenant,
  filter: DeadLetterFilter,
  { limit, offset = 0, afterId }: Page,
): Promise<DeadLetterPage> {
  return inTenant(db, scope, async (tx) => {
    const rows = await readPage(tx, scope, filter, { beforeId: afterId ?? null, limit: limit + 1, offset });
    const total = await countDeadLetters(tx, scope, filter, COUNTED_JOBS + 1);
    const shown = rows.slice(0, limit);
    const ids = shown.map((row) => row.job_id);
    const jobs = await getJobRows(tx, scope, ids);
    const retries = await tx.run<RetryRow>(newestRetriesSql, [scope.tenantId, ids]);
    const retryOf = new Map(retries.map((row) => [row.job_id, row.retried_by_id]));
    const jobOf = new Map(jobs.map((job) => [job.id, job]));
    return {
      letters: shown.flatMap((row) => toLetter(row, jobOf.get(row.job_id), retryOf.get(row.job_id))),
      hasMore: rows.length > limit,
      total: Math.min(total, COUNTED_JOBS),
      totalRelation: total > COUNTED_JOBS ? "gte" : "eq",
    };
  });
}

const readPage = (
  tx: TenantTransaction,
  scope: Tenant,
  filter: DeadLetterFilter,
  { beforeId, limit, offset }: { readonly beforeId: string | null; readonly limit: number; readonly offset: number },
): Promise<TriageRow[]> => tx.run<TriageRow>(listDeadLettersSql, [...valuesOf(scope, filter, beforeId), limit, offset]);

export interface DeadLetterLook {
  /** The matches, newest first. */
  readonly ids: readonly string[];
  /** The last dead letter that was scanned; null if none is left below it. */
  readonly floor: string | null;
}

/** Scans the newest `window` dead letters below an id for matches. */
export async function walkDeadLetters(
  tx: TenantTransaction,
  scope: Tenant,
  filter: DeadLetterFilter,
  { beforeId, limit, window }: { readonly beforeId: string; readonly limit: number; readonly window: number },
): Promise<DeadLetterLook> {
  const [look] = await tx.run<DeadLetterLook>(walkDeadLettersSql, [
    ...valuesOf(scope, filter, beforeId),
    limit,
    window,
  ]);
  return look ?? { ids: [], floor: null };
}

/** Counts the dead letters, up to `most`. */
export async function countDeadLetters(
  tx: TenantTransaction,
  scope: Tenant,
  filter: DeadLetterFilter,
  most: number,
): Promise<number> {
  const [counted] = await tx.run<{ n: number }>(countDeadLettersSql, [...valuesOf(scope, filter, null), most]);
  return counted?.n ?? 0;
}

function toLetter(row: TriageRow, job: JobRow | undefined, retriedById: string | null = null): DeadLetter[] {
  const { job_id: id, run_no: _run, ...triage } = row;
  return job ? [{ id, ...triage, retried_by_id: retriedById, job }] : [];
}

/** Returns one dead letter; null if the job is not a dead letter or belongs to another tenant. */
export function getDeadLetter(
  db: Database | TenantTransaction,
  scope: Tenant,
  jobId: string,
): Promise<DeadLetter | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<TriageRow>(getDeadLetterSql, [scope.tenantId, jobId]);
    const job = row && (await getJob(tx, scope, jobId));
    if (!row || !job) return null;
    const { payload: _payload, metadata: _metadata, result: _result, retried_by_id, ...shown } = job;
    return toLetter(row, shown, retried_by_id)[0] ?? null;
  });
}

/** Lists what people and keys did to a job, newest first, 200 at most. */
export const listJobEvents = (db: Database | TenantTransaction, scope: Tenant, jobId: string): Promise<JobEvent[]> =>
  inTenant(db, scope, (tx) => tx.run<JobEvent>(jobEventsSql, [scope.tenantId, jobId]));
