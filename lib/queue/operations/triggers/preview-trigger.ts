import type { Database, TenantTransaction } from "@/lib/db";
import { previewSchedule, readSchedule } from "../../policy/schedule";
import { newSettings, scheduleFields } from "../../policy/trigger-settings";
import { inTenant } from "../../queries/get-job";
import type { SchedulePreview, TenantScope } from "../../types";
import type { TriggerInput } from "../../types-triggers";
import { invalidTrigger } from "./check-trigger";
import { readSurroundings } from "./trigger-row";

export interface PreviewInput {
  readonly schedule: Omit<TriggerInput, "label" | "triggerType" | "definitionKey">;
  /** Instants after this one; default the database's now. */
  readonly after?: Date;
  readonly count: number;
}

/** What a schedule would do, read by the engine that will fire it. @throws QueueError invalid-value, tenant-suspended */
export function previewTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { schedule, after, count }: PreviewInput,
): Promise<SchedulePreview> {
  return inTenant(db, scope, async (tx) => {
    const around = await readSurroundings(tx);
    const settings = newSettings({ ...schedule, label: "", triggerType: "schedule", definitionKey: "" }, around);
    const read = readSchedule(scheduleFields(settings));
    if (read.problems) throw invalidTrigger(read.problems);
    const { expiresAt, maxRuns: runsLeft } = settings;
    return previewSchedule({ rule: read.rule, after: after ?? around.now, count, expiresAt, runsLeft });
  });
}
