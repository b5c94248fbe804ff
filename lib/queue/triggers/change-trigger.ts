import type { Database, TenantTransaction } from "@/lib/db";
import { QueueError } from "../errors";
import { notifySchedules } from "../notify";
import { inTenant } from "../read/get-job";
import { fireDueTrigger } from "../schedules/fire-due-schedules";
import type { TenantScope } from "../types";
import {
  invalidTrigger,
  neverFiresProblems,
  type Prospects,
  prospectsOf,
  refuseBarredEvents,
  refuseBarredTrigger,
  refuseProblems,
  requireDefinition,
  requireQueue,
  ruleOf,
  textProblems,
} from "./check-trigger";
import { getTrigger } from "./read-triggers";
import { refuseTooCostlyConditions, refuseTooLargeTemplates, refuseTooManyTriggers } from "./trigger-limits";
import {
  auditTrigger,
  type LockedTrigger,
  lockTrigger,
  readSurroundings,
  triggerColumns,
  triggerNotFound,
} from "./trigger-row";
import {
  changedSettings,
  changesEnd,
  changesTiming,
  mayMend,
  settingsProblems,
  type TriggerSurroundings,
} from "./trigger-settings.policy";
import { deleteTriggerSql, updateTriggerSql } from "./triggers.sql";
import type { Trigger, TriggerPatch, TriggerSettings, TriggerTarget } from "./types";

interface Change {
  readonly row: LockedTrigger;
  readonly before: TriggerSettings;
  readonly after: TriggerSettings;
  readonly patch: TriggerPatch;
}

/**
 * Changes a trigger. If its schedule or end changes, or it is enabled or disabled, instants that are already due fire
 * first, under the old settings. Then its next instant is computed from the database's now. Jobs that it made are not
 * affected.
 * @throws QueueError not-found, version-conflict; the rest like `createTrigger`
 */
export function changeTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { patch, ...target }: TriggerTarget & { readonly patch: TriggerPatch },
): Promise<Trigger> {
  return inTenant(db, scope, async (tx) => {
    const around = await readSurroundings(tx);
    const before = await lockTrigger(tx, scope, target);
    const after = changedSettings(before, patch, around);
    for (const settings of [before, after]) refuseBarredEvents(scope, settings);
    await refuseBarredTrigger(tx, scope, before.definition_key);
    const definitionId = await checkAffectedFields(tx, scope, { row: before, before, after, patch });
    const row = await fireWhatIsDue(tx, scope, { row: before, before, after, patch });
    const change = { row, before, after, patch };
    const prospects = newProspects(change, around);
    const { event_name } = change.after;
    if (event_name !== before.event_name) await refuseTooManyTriggers(tx, { eventName: event_name, isNew: false });
    if (patch.payload_template !== undefined)
      await refuseTooLargeTemplates(tx, {
        template: after.payload_template,
        replaces: { id: row.id, template: before.payload_template },
      });
    if (event_name !== before.event_name || patch.condition !== undefined)
      await refuseTooCostlyConditions(tx, { ...after, replaces: { ...before, id: row.id } });
    await tx.run(updateTriggerSql, [
      scope.tenantId,
      row.id,
      triggerColumns(change.after, prospects, definitionId),
      JSON.stringify(change.after.payload_template),
    ]);
    await auditTrigger(tx, scope, { triggerId: row.id, action: "trigger.change", detail: namesOf(patch) });
    tx.afterCommit(notifySchedules);
    const view = await getTrigger(tx, scope, row.id);
    if (!view) throw triggerNotFound();
    return view;
  });
}

/** Fires due instants if the change would lose them. Returns the trigger's row after that. */
async function fireWhatIsDue(tx: TenantTransaction, scope: TenantScope, { row, before, after }: Change) {
  const isMoved = changesTiming(before, after) || changesEnd(before, after) || before.is_enabled !== after.is_enabled;
  if (!isMoved || row.next_run_at === null) return row;
  if (!(await fireDueTrigger(tx, { tenantId: scope.tenantId, triggerId: row.id })))
    throw new QueueError("version-conflict", "This trigger is firing right now. Send the change again.");
  return lockTrigger(tx, scope, { triggerId: row.id, expected: null });
}

/** Checks definition, queue and texts as far as the change affects them. Returns the definition's id. */
async function checkAffectedFields(
  tx: TenantTransaction,
  scope: TenantScope,
  { row, before, after, patch }: Change,
): Promise<string> {
  if (patch.queue !== undefined && after.queue !== before.queue) await requireQueue(tx, after.queue);
  const touchesTexts = [patch.definition_key, patch.payload_template, patch.condition, patch.dedupe_key_template].some(
    (value) => value !== undefined,
  );
  if (!touchesTexts) {
    refuseProblems(settingsProblems(after));
    return row.definition_id;
  }
  const definition = await requireDefinition(tx, scope, after.definition_key);
  refuseProblems([...settingsProblems(after), ...textProblems(after, definition)]);
  return definition.id;
}

/** Returns the prospects after the change. The stored ones stay if the change does not affect the timing. */
function newProspects({ row, before, after, patch }: Change, { now }: TriggerSurroundings): Prospects {
  const stored: Prospects = {
    status: row.status,
    reason: row.status_reason,
    nextRunAt: dateOf(row.next_run_at),
    followingRunAt: dateOf(row.following_run_at),
  };
  const retimed = changesTiming(before, after);
  const ends = changesEnd(before, after);
  const moves = retimed || ends || (after.is_enabled && !before.is_enabled);
  const mends = row.status === "broken" && mayMend(patch);
  if (!after.is_enabled && !moves && !mends) return { ...stored, nextRunAt: null, followingRunAt: null };
  if (!moves && !mends) return stored;
  const read = ruleOf(after);
  if (read.problems) throw invalidTrigger(read.problems);
  // This transaction's clock may be older than an instant that fired while the change waited for the trigger's lock.
  const lastRunAt = dateOf(row.last_run_at);
  const since = lastRunAt && lastRunAt > now ? lastRunAt : now;
  const prospects = prospectsOf(after, read.rule, { now: since, runCount: row.run_count });
  // Enabling a finished trigger leaves it finished, but a new schedule or end must leave a future instant.
  if (retimed || ends) refuseProblems(neverFiresProblems(after, prospects));
  return prospects;
}

/**
 * Deletes a trigger. It never fires again, even if a scheduler has it in memory. @throws QueueError not-found,
 * version-conflict
 */
export function deleteTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  target: TriggerTarget,
): Promise<Trigger> {
  return inTenant(db, scope, async (tx) => {
    const row = await lockTrigger(tx, scope, target);
    const view = await getTrigger(tx, scope, row.id);
    if (!view) throw triggerNotFound();
    await tx.run(deleteTriggerSql, [scope.tenantId, row.id]);
    await auditTrigger(tx, scope, { triggerId: row.id, action: "trigger.delete", detail: row.label });
    tx.afterCommit(notifySchedules);
    return { ...view, next_run_at: null };
  });
}

const namesOf = (patch: TriggerPatch): string => Object.keys(patch).join(", ");

const dateOf = (instant: string | null): Date | null => (instant === null ? null : new Date(instant));
