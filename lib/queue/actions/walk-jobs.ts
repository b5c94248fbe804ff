import type { TenantTransaction } from "@/lib/db";
import { countDeadLetters, walkDeadLetters } from "../dead-letters/read-dead-letters";
import { HIGHEST_ID, resolveFilter, SCAN_BUDGET, shapeOf, valuesOf } from "../read/list-jobs";
import { listJobsSql } from "../read/list-jobs.sql";
import type { JobFilter, TenantScope } from "../types";
import { jobsInStatusSql, windowFloorSql } from "./bulk-actions.sql";
import type { BulkTarget } from "./types";

/** The number of jobs in a target is exact up to this count. */
export const COUNTED_TARGETS = 100_000;

export interface JobStep {
  readonly ids: readonly string[];
  /** All jobs at or above this id have been read; null if there are none below. */
  readonly nextBefore: string | null;
}

type Tenant = Pick<TenantScope, "tenantId">;
interface Bound {
  readonly beforeId: string;
  readonly limit: number;
}

/**
 * Returns the next jobs of a target below an id, newest first. A filter is applied to the current state of the jobs.
 */
export async function nextJobs(
  tx: TenantTransaction,
  scope: Tenant,
  target: BulkTarget,
  bound: Bound,
): Promise<JobStep> {
  if ("filter" in target) return walkFilter(tx, scope, target.filter, bound);
  if ("dead_letters" in target) {
    const look = { ...bound, window: SCAN_BUDGET };
    const { ids, floor } = await walkDeadLetters(tx, scope, target.dead_letters, look);
    return { ids, nextBefore: ids.length === bound.limit ? (ids.at(-1) ?? null) : floor };
  }
  const left = target.job_ids.filter((id) => id < bound.beforeId || bound.beforeId === HIGHEST_ID);
  const ids = left.slice(0, bound.limit);
  return { ids, nextBefore: left.length > ids.length ? (ids.at(-1) ?? null) : null };
}

// A filter without an index reads one window of jobs at a time, so a step may return no job and still continue.
async function walkFilter(tx: TenantTransaction, scope: Tenant, filter: JobFilter, bound: Bound): Promise<JobStep> {
  if (filter.status?.length === 0) return { ids: [], nextBefore: null };
  const found = await resolveFilter(tx, filter);
  const shape = shapeOf(filter, found);
  const values = valuesOf(scope, filter, found);
  const rows = await tx.run<{ id: string }>(
    listJobsSql(shape, "ids"),
    values({ afterId: bound.beforeId, limit: bound.limit, offset: 0 }),
  );
  const ids = rows.map((row) => row.id);
  if (ids.length === bound.limit) return { ids, nextBefore: ids.at(-1) ?? null };
  if (!shape.scans) return { ids, nextBefore: null };
  const [before] = [bound.beforeId, found.beforeId].sort();
  const [floor] = await tx.run<{ id: string }>(windowFloorSql, [scope.tenantId, before, found.fromId, SCAN_BUDGET - 1]);
  return { ids, nextBefore: floor?.id ?? null };
}

export interface TargetCount {
  readonly count: number;
  readonly isExact: boolean;
}

/**
 * Counts the jobs of a target, up to 100,000. A lower count is inexact too if a filter could read only the newest jobs.
 */
export async function countTarget(
  tx: TenantTransaction,
  scope: Tenant,
  target: BulkTarget,
  statuses: readonly string[],
): Promise<TargetCount> {
  if ("job_ids" in target) {
    const rows = await tx.run(jobsInStatusSql, [scope.tenantId, target.job_ids, statuses]);
    return { count: rows.length, isExact: true };
  }
  if ("dead_letters" in target) {
    const count = await countDeadLetters(tx, scope, target.dead_letters, COUNTED_TARGETS + 1);
    return { count: Math.min(count, COUNTED_TARGETS), isExact: count <= COUNTED_TARGETS };
  }
  if (target.filter.status?.length === 0) return { count: 0, isExact: true };
  const found = await resolveFilter(tx, target.filter);
  const shape = shapeOf(target.filter, found);
  const values = valuesOf(scope, target.filter, found);
  const [counted] = await tx.run<{ n: number }>(
    listJobsSql(shape, "count"),
    values({ limit: COUNTED_TARGETS + 1, offset: 0 }),
  );
  const count = Math.min(counted?.n ?? 0, COUNTED_TARGETS);
  if ((counted?.n ?? 0) > COUNTED_TARGETS) return { count, isExact: false };
  if (!shape.scans) return { count, isExact: true };
  const bounds = [found.beforeId, found.fromId, SCAN_BUDGET];
  return { count, isExact: (await tx.run(windowFloorSql, [scope.tenantId, ...bounds])).length === 0 };
}
