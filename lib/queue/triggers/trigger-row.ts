import type { TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import type { TenantScope } from "../types";
import type { Prospects } from "./check-trigger";
import type { TriggerSurroundings } from "./trigger-settings.policy";
import type { TriggerRow } from "./trigger-view";
import { auditTriggerSql, lockTriggerSql, triggerSurroundingsSql } from "./triggers.sql";
import type { TriggerSettings, TriggerTarget } from "./types";

export const triggerNotFound = (): QueueError => new QueueError("not-found", "Trigger not found.");

export interface LockedTrigger extends TriggerRow {
  readonly following_run_at: string | null;
}

/**
 * Reads the tenant's time zone and the clock. @throws QueueError tenant-suspended: triggers of such a tenant cannot be
 * created or changed
 */
export async function readSurroundings(tx: TenantTransaction): Promise<TriggerSurroundings> {
  const [row] = await tx.run<TriggerSurroundings & { status: string }>(triggerSurroundingsSql, [tx.tenantId]);
  if (row?.status !== "active") throw new QueueError("tenant-suspended", "This tenant is suspended.");
  return { timezone: row.timezone, now: row.now };
}

/**
 * Locks a trigger until the transaction ends and returns it.
 * @throws QueueError not-found; version-conflict if the caller saw another version
 */
export async function lockTrigger(
  tx: TenantTransaction,
  scope: TenantScope,
  { triggerId, expected }: TriggerTarget,
): Promise<LockedTrigger> {
  const [row] = await tx.run<LockedTrigger>(lockTriggerSql, [scope.tenantId, triggerId]);
  if (!row) throw triggerNotFound();
  if (expected !== null && !expected.includes(row.version))
    throw new QueueError("version-conflict", "The trigger was changed since you read it.");
  return row;
}

/** Settings and prospects by column name, as JSON for the statements. */
export function triggerColumns(settings: TriggerSettings, prospects: Prospects, definitionId: string): string {
  return JSON.stringify({
    label: settings.label,
    is_enabled: settings.is_enabled,
    definition_id: definitionId,
    queue: settings.queue,
    priority: settings.priority,
    dedupe_window_seconds: settings.dedupe_window_seconds,
    dedupe_key_template: settings.dedupe_key_template,
    event_name: settings.event_name,
    condition: settings.condition,
    schedule_type: settings.schedule_type,
    cron_expr: settings.cron_expr,
    interval_ms: settings.interval_ms,
    anchor_at: settings.anchor_at,
    once_at: settings.once_at,
    timezone: settings.timezone,
    overlap_policy: settings.overlap_policy,
    catch_up: settings.catch_up,
    catch_up_limit: settings.catch_up_limit,
    dst_gap: settings.dst_policy.gap,
    dst_overlap: settings.dst_policy.overlap,
    jitter_seconds: settings.jitter_seconds,
    max_runs: settings.max_runs,
    expires_at: settings.expires_at,
    next_run_at: prospects.nextRunAt,
    following_run_at: prospects.followingRunAt,
    status: prospects.status,
    status_reason: prospects.reason,
  });
}

interface AuditedAction {
  readonly triggerId: string;
  readonly action: "trigger.create" | "trigger.change" | "trigger.delete" | "trigger.run";
  /** The changed fields, or the trigger's label. */
  readonly detail?: string;
  readonly jobId?: string;
}

export async function auditTrigger(
  tx: TenantTransaction,
  { tenantId, actor }: TenantScope,
  { triggerId, action, detail, jobId }: AuditedAction,
): Promise<void> {
  await tx.run(auditTriggerSql, [
    tenantId,
    triggerId,
    jobId ?? null,
    actor.kind,
    actor.id,
    action,
    actor.requestId ?? null,
    detail ?? null,
  ]);
}
