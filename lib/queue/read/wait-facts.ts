import type { TenantTransaction } from "@/lib/db";
import { pendingParentsSql } from "../dependencies/dependencies.sql";
import type { TenantScope } from "../types";
import { lanePositionsSql } from "./read-jobs.sql";
import type { JobRead } from "./view";
import type { LanePosition, MoreFacts } from "./wait-reason.policy";

type Waiting = Pick<JobRead, "id" | "status" | "is_future" | "lane_no" | "sort_key">;

/**
 * Reads why the given jobs wait: the position in the lane and the limit for ready jobs, the parents for blocked ones.
 * Runs at most two statements for any number of jobs, and none if no job needs them.
 */
export async function readWaitFacts(
  tx: TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  rows: readonly Waiting[],
): Promise<ReadonlyMap<string, MoreFacts>> {
  const ready = rows.filter((row) => row.status === "queued" && row.is_future === false && row.lane_no !== null);
  const blocked = rows.filter((row) => row.status === "blocked").map((row) => row.id);
  const facts = new Map<string, MoreFacts>();
  for (const { job_id, position } of await readPositions(tx, scope, ready)) facts.set(job_id, { position });
  for (const { child_id, job_id, definition_key, n } of await readParents(tx, scope, blocked)) {
    const first = facts.get(child_id)?.blockedBy?.first ?? [];
    const blocker = { jobId: job_id, definitionKey: definition_key };
    facts.set(child_id, { blockedBy: { first: [...first, blocker], count: n } });
  }
  return facts;
}

async function readPositions(
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  ready: readonly Waiting[],
): Promise<{ job_id: string; position: LanePosition }[]> {
  if (ready.length === 0) return [];
  return tx.run(lanePositionsSql, [
    tenantId,
    ready.map((row) => row.id),
    ready.map((row) => row.lane_no),
    ready.map((row) => row.sort_key),
  ]);
}

async function readParents(
  tx: TenantTransaction,
  { tenantId }: Pick<TenantScope, "tenantId">,
  blocked: readonly string[],
): Promise<{ child_id: string; job_id: string; definition_key: string; n: number }[]> {
  return blocked.length === 0 ? [] : tx.run(pendingParentsSql, [tenantId, blocked]);
}
