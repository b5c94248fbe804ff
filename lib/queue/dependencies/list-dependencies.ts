import type { Database, TenantTransaction } from "@/lib/db";
import { inTenant } from "../read/get-job";
import type { JobStatus } from "../states";
import type { DependencyEdge, DependencyType, JobDependencies, OnParentFailure, TenantScope } from "../types";
import type { StoredCondition } from "./condition.policy";
import { knownJobsSql, listChildrenSql, listParentsSql } from "./dependencies.sql";

interface EdgeRow {
  job_id: string;
  edge_no: number;
  definition_key: string;
  status: JobStatus;
  type: DependencyType;
  condition: StoredCondition | null;
  alias: string | null;
  state: DependencyEdge["state"];
  on_failure: OnParentFailure;
}

/** Lists the parents and children of a job, at most `limit` of each; null if the tenant has no such job. */
export function listDependencies(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  { jobId, limit }: { readonly jobId: string; readonly limit: number },
): Promise<JobDependencies | null> {
  return inTenant(db, scope, async (tx) => {
    if (!(await knownJobs(tx, scope, [jobId])).has(jobId)) return null;
    const key = [scope.tenantId, jobId];
    const parents = await tx.run<EdgeRow>(listParentsSql, [...key, limit]);
    const children = await tx.run<EdgeRow>(listChildrenSql, [...key, limit + 1]);
    return {
      parents: parents.map(toView),
      children: children.slice(0, limit).map(toView),
      has_more_children: children.length > limit,
    };
  });
}

/** Returns which of the given jobs belong to this tenant. */
export function knownJobs(
  db: Database | TenantTransaction,
  scope: Pick<TenantScope, "tenantId">,
  ids: readonly string[],
): Promise<Set<string>> {
  return inTenant(db, scope, async (tx) => {
    const rows = await tx.run<{ id: string }>(knownJobsSql, [scope.tenantId, ids]);
    return new Set(rows.map(({ id }) => id));
  });
}

function toView(row: EdgeRow): DependencyEdge {
  const { condition } = row;
  return {
    job_id: row.job_id,
    edge_no: row.edge_no,
    definition_key: row.definition_key,
    status: row.status,
    type: row.type,
    condition: condition && {
      path: condition.path,
      op: condition.op,
      ...(condition.value === undefined ? {} : { value: condition.value }),
    },
    as: row.alias,
    state: row.state,
    on_parent_failure: row.on_failure,
  };
}
