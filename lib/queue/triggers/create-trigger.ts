/**
 * Triggers: create jobs from templates, on a schedule, on a published event, or by a manual run.
 * A trigger is checked against its definition, queue, condition and templates when it is saved, so most mistakes fail
 * at the API, not when the trigger fires. Every change is audited, and due instants fire before an edit applies.
 * Start with `createTrigger` here and `changeTrigger`. Conditions and templates are in trigger-condition.policy.ts and
 * trigger-template.policy.ts; `../schedules` and `../events` fire the triggers.
 */
import type { Database, TenantTransaction } from "@/lib/db";
import { notifySchedules } from "../notify";
import { inTenant } from "../read/get-job";
import type { TenantScope } from "../types";
import {
  neverFiresProblems,
  prospectsOf,
  refuseBarredEvents,
  refuseProblems,
  requireDefinition,
  requireQueue,
  ruleOf,
  textProblems,
} from "./check-trigger";
import { getTrigger } from "./read-triggers";
import { refuseTooCostlyConditions, refuseTooLargeTemplates, refuseTooManyTriggers } from "./trigger-limits";
import { auditTrigger, readSurroundings, triggerColumns, triggerNotFound } from "./trigger-row";
import { newSettings, settingsProblems } from "./trigger-settings.policy";
import { insertTriggerSql } from "./triggers.sql";
import type { Trigger, TriggerInput } from "./types";

/**
 * Creates a trigger. The first instant of a schedule is the first one after the database's now.
 * @throws QueueError invalid-value with pointers to the API's fields; payload-too-large, definition-unknown,
 * definition-inactive, queue-unknown, executor-barred, job-events-barred, tenant-suspended, too-many-triggers
 */
export function createTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  input: TriggerInput,
): Promise<Trigger> {
  return inTenant(db, scope, async (tx) => {
    const around = await readSurroundings(tx);
    const settings = newSettings(input, around);
    refuseBarredEvents(scope, settings);
    const definition = await requireDefinition(tx, scope, settings.definition_key);
    await requireQueue(tx, settings.queue);
    const read = ruleOf(settings);
    const problems = [...settingsProblems(settings), ...(read.problems ?? []), ...textProblems(settings, definition)];
    refuseProblems(problems);
    const prospects = prospectsOf(settings, read.rule ?? null, { now: around.now, runCount: 0 });
    refuseProblems(neverFiresProblems(settings, prospects));
    await refuseTooManyTriggers(tx, { eventName: settings.event_name, isNew: true });
    await refuseTooLargeTemplates(tx, { template: settings.payload_template });
    await refuseTooCostlyConditions(tx, settings);
    const [made] = await tx.run<{ id: string }>(insertTriggerSql, [
      scope.tenantId,
      triggerColumns(settings, prospects, definition.id),
      JSON.stringify(settings.payload_template),
      settings.trigger_type,
      scope.actor.userId,
    ]);
    if (!made) throw triggerNotFound();
    await auditTrigger(tx, scope, { triggerId: made.id, action: "trigger.create", detail: settings.label });
    tx.afterCommit(notifySchedules);
    const view = await getTrigger(tx, scope, made.id);
    if (!view) throw triggerNotFound();
    return view;
  });
}
