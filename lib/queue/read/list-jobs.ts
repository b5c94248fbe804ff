import type { Database, TenantTransaction } from "@/lib/db";
import { JOB_STATUSES, type JobStatus } from "../states";
import type { JobFilter, JobPage, Page, TenantScope } from "../types";
import { getJobRows, inTenant } from "./get-job";
import { type Branch, type Driver, definitionIdsSql, idFloorSql, type ListShape, listJobsSql } from "./list-jobs.sql";

/** Counts are exact up to here; beyond it the total is a lower bound. */
export const COUNTED_JOBS = 10_000;
/** The number of newest rows that a filter without an index reads. */
export const SCAN_BUDGET = 20_000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LOWEST = "00000000-0000-0000-0000-000000000000";
/** No id is higher. */
export const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const WAITING: readonly JobStatus[] = ["queued", "blocked", "paused"];

/**
 * Lists a page of jobs, newest first. Filters by status, definition, correlation, parent and retried job cover all
 * history; source, queue and tag cover the newest 20,000 jobs.
 */
export function listJobs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  filter: JobFilter,
  page: Page,
): Promise<JobPage> {
  return inTenant(db, scope, async (tx) => {
    const found = await resolveFilter(tx, filter);
    const shape = shapeOf(filter, found);
    const values = valuesOf(scope, filter, found);
    const ids = await tx.run<{ id: string }>(
      listJobsSql(shape, "ids"),
      values({ afterId: page.afterId, limit: page.limit + 1, offset: page.offset ?? 0 }),
    );
    const [counted] = await tx.run<{ n: number }>(
      listJobsSql(shape, "count"),
      values({ limit: COUNTED_JOBS + 1, offset: 0 }),
    );
    const total = counted?.n ?? 0;
    return {
      jobs: await getJobRows(
        tx,
        scope,
        ids.slice(0, page.limit).map((row) => row.id),
      ),
      hasMore: ids.length > page.limit,
      total: Math.min(total, COUNTED_JOBS),
      totalRelation: total > COUNTED_JOBS ? "gte" : "eq",
    };
  });
}

/** The ids that a filter refers to. */
interface Resolved {
  readonly definitionIds: readonly string[] | null;
  readonly jobId: string | null;
  readonly fromId: string;
  readonly beforeId: string;
}

/** Resolves the texts and times of a filter to ids. */
export async function resolveFilter(tx: TenantTransaction, filter: JobFilter): Promise<Resolved> {
  const search = filter.q?.trim();
  const jobId = search !== undefined && UUID.test(search) ? search : null;
  const prefix = search && jobId === null ? search : null;
  const byDefinition = filter.definition_key !== undefined || prefix !== null;
  const definitions = byDefinition
    ? await tx.run<{ id: string }>(definitionIdsSql, [filter.definition_key ?? null, prefix])
    : null;
  const byTime = filter.created_after !== undefined || filter.created_before !== undefined;
  const [range] = byTime
    ? await tx.run<IdRange>(idFloorSql, [filter.created_after ?? null, filter.created_before ?? null])
    : [];
  return {
    // If no definition matches, an id that does not exist keeps the filter from meaning "any".
    definitionIds: definitions?.length === 0 ? [HIGHEST_ID] : (definitions?.map((row) => row.id) ?? null),
    jobId,
    fromId: range?.from_id ?? LOWEST,
    beforeId: range?.to_id ?? HIGHEST_ID,
  };
}

interface IdRange {
  from_id: string | null;
  to_id: string | null;
}

/** Returns the statement shape for a filter. */
export function shapeOf(filter: JobFilter, found: Resolved): ListShape {
  const scans = Boolean(filter.source?.length) || filter.queue !== undefined || filter.tag !== undefined;
  const driver = driverOf(filter, found);
  const wanted = new Set(filter.status ?? []);
  if (wanted.size === 0 || JOB_STATUSES.every((status) => wanted.has(status)))
    return { branches: "all", driver, scans };
  const branches = new Set<Branch>(
    [...wanted].map((status) => (WAITING.includes(status) ? "waiting" : (status as Branch))),
  );
  return { branches: [...branches], driver, scans };
}

function driverOf(filter: JobFilter, { jobId, definitionIds }: Resolved): Driver {
  if (jobId !== null) return "id";
  if (filter.retried_from_id !== undefined) return "retried";
  if (filter.parent_job_id !== undefined) return "parent";
  if (filter.correlation_id !== undefined) return "correlation";
  if (definitionIds === null) return "none";
  return definitionIds.length === 1 ? "definition" : "definitions";
}

type Bounds = { readonly afterId?: string | undefined; readonly limit: number; readonly offset: number };

/** Returns the parameters of that statement, given where the page begins and how long it is. */
export function valuesOf(scope: Pick<TenantScope, "tenantId">, filter: JobFilter, found: Resolved) {
  return ({ afterId, limit, offset }: Bounds): unknown[] => [
    scope.tenantId,
    afterId !== undefined && afterId < found.beforeId ? afterId : found.beforeId,
    found.fromId,
    limit,
    offset,
    found.definitionIds,
    filter.correlation_id ?? null,
    filter.parent_job_id ?? null,
    filter.source?.length ? filter.source : null,
    filter.queue ?? null,
    filter.tag ?? null,
    found.jobId,
    (filter.status ?? []).filter((status) => WAITING.includes(status)),
    SCAN_BUDGET,
    filter.retried_from_id ?? null,
  ];
}
