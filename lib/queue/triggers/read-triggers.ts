import type { Database, TenantTransaction } from "@/lib/db";
import { statusesSql } from "../actions/change-jobs.sql";
import { inTenant } from "../read/get-job";
import { COUNTED_JOBS } from "../read/list-jobs";
import type { JobStatus } from "../states";
import type { Page, TenantScope } from "../types";
import {
  type FiringRow,
  type RecentRow,
  type TriggerFigures,
  type TriggerRow,
  toFiring,
  toRecentFiring,
  toTrigger,
} from "./trigger-view";
import {
  countTriggersSql,
  getTriggerSql,
  listFiringsSql,
  listTriggersSql,
  missedInstantsSql,
  recentFiringsSql,
} from "./triggers.sql";
import type { Firing, FiringFilter, RecentFiring, Trigger, TriggerFilter, TriggerPage } from "./types";

type Tenant = Pick<TenantScope, "tenantId">;

const valuesOf = ({ tenantId }: Tenant, filter: TriggerFilter): unknown[] => [
  tenantId,
  filter.trigger_type ?? null,
  filter.status ?? null,
  filter.is_enabled ?? null,
  filter.definition_key ?? null,
  filter.event_name ?? null,
  filter.q ?? null,
];

/** Lists the tenant's triggers, newest first, each with the outcomes of its newest firings. */
export function listTriggers(
  db: Database | TenantTransaction,
  scope: Tenant,
  filter: TriggerFilter,
  { limit, offset = 0, afterId }: Page,
): Promise<TriggerPage> {
  return inTenant(db, scope, async (tx) => {
    const values = valuesOf(scope, filter);
    const rows = await tx.run<TriggerRow>(listTriggersSql, [...values, afterId ?? null, limit + 1, offset]);
    const [counted] = await tx.run<{ n: number }>(countTriggersSql, [...values, COUNTED_JOBS + 1]);
    const shown = rows.slice(0, limit);
    const figures = await readFigures(tx, scope, shown);
    const total = counted?.n ?? 0;
    return {
      triggers: shown.map((row) => toTrigger(row, figures)),
      hasMore: rows.length > limit,
      total: Math.min(total, COUNTED_JOBS),
      totalRelation: total > COUNTED_JOBS ? "gte" : "eq",
    };
  });
}

/** Returns one trigger; null if this tenant has none with this id, or it was deleted. */
export function getTrigger(
  db: Database | TenantTransaction,
  scope: Tenant,
  triggerId: string,
): Promise<Trigger | null> {
  return inTenant(db, scope, async (tx) => {
    const [row] = await tx.run<TriggerRow>(getTriggerSql, [scope.tenantId, triggerId]);
    return row ? toTrigger(row, await readFigures(tx, scope, [row])) : null;
  });
}

/**
 * Lists the firings of a trigger's instants, events and manual runs, newest first; null if there is no such trigger.
 */
export function listFirings(
  db: Database | TenantTransaction,
  scope: Tenant,
  { triggerId, filter, page }: { readonly triggerId: string; readonly filter: FiringFilter; readonly page: Page },
): Promise<{ readonly firings: readonly Firing[]; readonly hasMore: boolean } | null> {
  return inTenant(db, scope, async (tx) => {
    const [known] = await tx.run(getTriggerSql, [scope.tenantId, triggerId]);
    if (!known) return null;
    const { outcome = null, kind = null } = filter;
    const rows = await tx.run<FiringRow>(listFiringsSql, [
      scope.tenantId,
      triggerId,
      page.afterId ?? null,
      outcome,
      kind,
      page.limit + 1,
    ]);
    const shown = rows.slice(0, page.limit);
    const statuses = await readStatuses(tx, scope, shown);
    return { firings: shown.map((row) => toFiring(row, statuses)), hasMore: rows.length > page.limit };
  });
}

async function readFigures(
  tx: TenantTransaction,
  scope: Tenant,
  triggers: readonly TriggerRow[],
): Promise<TriggerFigures> {
  const recent = new Map<string, RecentFiring[]>();
  if (triggers.length === 0) return { recent, missed: new Map() };
  const chosen = [scope.tenantId, triggers.map(({ id }) => id)];
  const rows = await tx.run<RecentRow>(recentFiringsSql, chosen);
  const statuses = await readStatuses(tx, scope, rows);
  for (const row of rows) {
    const known = recent.get(row.trigger_id) ?? [];
    recent.set(row.trigger_id, known);
    known.push(toRecentFiring(row, statuses));
  }
  const missed = await tx.run<{ trigger_id: string; n: number }>(missedInstantsSql, chosen);
  return { recent, missed: new Map(missed.map(({ trigger_id, n }) => [trigger_id, n])) };
}

/** The statuses of the firings' jobs, by job id. */
async function readStatuses(
  tx: TenantTransaction,
  { tenantId }: Tenant,
  firings: readonly RecentRow[],
): Promise<ReadonlyMap<string, JobStatus>> {
  const ids = [...new Set(firings.flatMap(({ job_id }) => job_id ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await tx.run<{ job_id: string; status: JobStatus }>(statusesSql, [tenantId, ids]);
  return new Map(rows.map(({ job_id, status }) => [job_id, status]));
}
