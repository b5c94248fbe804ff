import type { Database, TenantTransaction } from "@/lib/db";
import { type Branch, definitionIdsSql, idFloorSql, type ListShape, listJobsSql } from "../sql/list-jobs";
import { JOB_STATUSES, type JobStatus } from "../states";
import type { JobFilter, JobPage, Page, TenantScope } from "../types";
import { getJobRows, inTenant } from "./get-job";

/** Counts are exact up to here; beyond it the answer says "at least". */
export const COUNTED_JOBS = 10_000;
/** How many of the newest rows a filter without an index looks at. */
export const SCAN_BUDGET = 20_000;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NOWHERE = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const WAITING: readonly JobStatus[] = ["queued", "blocked", "paused"];

/**
 * A page of jobs, newest first. Filters by status, definition, correlation and parent reach back over all history;
 * source, queue and tag look at the newest 20,000 jobs.
 */
export function listJobs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  filter: JobFilter,
  page: Page,
): Promise<JobPage> {
  return inTenant(db, scope, async (tx) => {
    const shape = shapeOf(filter);
    const values = await filterValues(tx, scope, filter);
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

function shapeOf(filter: JobFilter): ListShape {
  const scans = Boolean(filter.source?.length) || filter.queue !== undefined || filter.tag !== undefined;
  const wanted = new Set(filter.status ?? []);
  if (wanted.size === 0 || JOB_STATUSES.every((status) => wanted.has(status))) return { branches: "all", scans };
  const branches = new Set<Branch>(
    [...wanted].map((status) => (WAITING.includes(status) ? "waiting" : (status as Branch))),
  );
  return { branches: [...branches], scans };
}

type Bounds = { readonly afterId?: string | undefined; readonly limit: number; readonly offset: number };

async function filterValues(tx: TenantTransaction, scope: Pick<TenantScope, "tenantId">, filter: JobFilter) {
  const search = filter.q?.trim();
  const searchedId = search !== undefined && UUID.test(search) ? search : null;
  const prefix = search && searchedId === null ? search : null;
  const definitions =
    filter.definitionKey !== undefined || prefix !== null
      ? (await tx.run<{ id: string }>(definitionIdsSql, [filter.definitionKey ?? null, prefix])).map((row) => row.id)
      : null;
  const [range] =
    filter.createdAfter || filter.createdBefore
      ? await tx.run<{ from_id: string | null; to_id: string | null }>(idFloorSql, [
          filter.createdAfter ?? null,
          filter.createdBefore ?? null,
        ])
      : [];
  return ({ afterId, limit, offset }: Bounds): unknown[] => [
    scope.tenantId,
    afterId ?? null,
    range?.from_id ?? null,
    range?.to_id ?? null,
    limit,
    offset,
    // No definition matches: an id that nothing has keeps the filter from meaning "any".
    definitions !== null && definitions.length === 0 ? [NOWHERE] : definitions,
    filter.correlationId ?? null,
    filter.parentJobId ?? null,
    filter.source?.length ? filter.source : null,
    filter.queue ?? null,
    filter.tag ?? null,
    searchedId,
    (filter.status ?? []).filter((status) => WAITING.includes(status)),
    SCAN_BUDGET,
  ];
}
