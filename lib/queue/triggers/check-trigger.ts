import type { TenantTransaction } from "@/lib/db";
import { validatorOf } from "../definitions/payload-validators";
import { type DefinitionRow, findDefinition, queueIdOf } from "../definitions/read-definitions";
import { refuseBarred } from "../enqueue/new-job-item";
import { QueueError } from "../errors";
import { nextInstants, type ReadSchedule, readSchedule } from "../schedules/rules";
import type { FieldProblem, ScheduleRule, TenantScope } from "../types";
import { compileTriggerCondition } from "./trigger-condition.policy";
import { compileTriggerTemplate } from "./trigger-template.policy";
import type { TriggerSettings, TriggerStatus } from "./types";

const at = (pointer: string, problems: readonly FieldProblem[]): FieldProblem[] =>
  problems.map((found) => ({ ...found, pointer: pointer + found.pointer }));

export function invalidTrigger(problems: readonly FieldProblem[]): QueueError {
  return problems.some(({ code, pointer }) => code === "too-large" && pointer.startsWith("/payload_template"))
    ? new QueueError("payload-too-large", "The template is larger than a payload may be.", { problems })
    : new QueueError("invalid-value", "The trigger is not valid.", { problems });
}

/**
 * Throws if there are any problems. @throws QueueError invalid-value; payload-too-large for a template that no
 * payload could hold
 */
export function refuseProblems(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalidTrigger(problems);
}

/**
 * Returns the definition that a trigger names. @throws QueueError definition-unknown, definition-inactive,
 * executor-barred
 */
export async function requireDefinition(
  tx: TenantTransaction,
  scope: TenantScope,
  key: string,
): Promise<DefinitionRow> {
  const row = await findDefinition(tx, key);
  const problems = [{ pointer: "/definition_key", code: "unknown", detail: "is not the key of an active definition" }];
  if (!row) throw new QueueError("definition-unknown", "Definition not found.", { problems });
  if (!row.is_active) throw new QueueError("definition-inactive", "The definition is disabled.", { problems });
  refuseBarred(scope, row);
  return row;
}

/** Rejects the change of a trigger whose jobs the actor may not start. @throws QueueError executor-barred */
export async function refuseBarredTrigger(tx: TenantTransaction, scope: TenantScope, key: string): Promise<void> {
  const row = scope.barredExecutors && (await findDefinition(tx, key));
  if (row) refuseBarred(scope, row);
}

const OF_JOBS = /^job\./;

/** Rejects a trigger on events whose data the actor may not read. @throws QueueError job-events-barred */
export function refuseBarredEvents({ barredFromJobEvents }: TenantScope, { event_name }: TriggerSettings): void {
  if (barredFromJobEvents && event_name !== null && OF_JOBS.test(event_name))
    throw new QueueError("job-events-barred", "You may not save triggers on events of jobs.");
}

/** Checks that the queue exists; null passes. @throws QueueError queue-unknown */
export async function requireQueue(tx: TenantTransaction, queue: string | null): Promise<void> {
  if (queue !== null) await queueIdOf(tx, queue);
}

/**
 * Returns the problems of condition and templates. A template without placeholders must match its definition's schema.
 */
export function textProblems(settings: TriggerSettings, definition: DefinitionRow): FieldProblem[] {
  const { payload_template, condition, dedupe_key_template, trigger_type } = settings;
  const compiled = compileTriggerTemplate(payload_template, trigger_type);
  const problems =
    "problems" in compiled
      ? at("/payload_template", compiled.problems)
      : compiled.template.bindings.length > 0
        ? []
        : at("/payload_template", validatorOf(definition)(compiled.template.source));
  if (condition !== null && trigger_type === "event") {
    const read = compileTriggerCondition(condition);
    if ("problems" in read) problems.push(...at("/condition", read.problems));
  }
  if (dedupe_key_template !== null && trigger_type === "event") {
    const read = compileTriggerTemplate(dedupe_key_template, "event");
    if ("problems" in read) problems.push(...at("/dedupe_key_template", read.problems));
  }
  return problems;
}

/** When a trigger fires next, and whether it ever will. */
export interface Prospects {
  readonly status: TriggerStatus;
  readonly reason: string | null;
  readonly nextRunAt: Date | null;
  readonly followingRunAt: Date | null;
}

const finished = (reason: string): Prospects => ({
  status: "finished",
  reason,
  nextRunAt: null,
  followingRunAt: null,
});

/** Returns the schedule of a trigger (null for an event trigger), or its problems. */
export function ruleOf(
  settings: TriggerSettings,
): ReadSchedule | { readonly rule: null; readonly problems?: undefined } {
  return settings.trigger_type === "event" ? { rule: null } : readSchedule(settings);
}

/** Computes a trigger's state after `now`. Instants at or before `now` are skipped. */
export function prospectsOf(
  settings: TriggerSettings,
  rule: ScheduleRule | null,
  { now, runCount }: { readonly now: Date; readonly runCount: number },
): Prospects {
  const { max_runs, expires_at, is_enabled } = settings;
  const expiresAt = expires_at === null ? null : new Date(expires_at);
  if (max_runs !== null && runCount >= max_runs) return finished("max_runs");
  if (expiresAt && expiresAt <= now) return finished("expired");
  const waits: Prospects = { status: "active", reason: null, nextRunAt: null, followingRunAt: null };
  if (!rule) return waits;
  const [next, following] = nextInstants(rule, now, 2);
  if (!next) return finished("over");
  if (expiresAt && next.at >= expiresAt) return finished("expired");
  return is_enabled ? { ...waits, nextRunAt: next.at, followingRunAt: following?.at ?? null } : waits;
}

/** Returns why a trigger that is being saved would never fire, at the field that has to change. */
export function neverFiresProblems({ schedule_type }: TriggerSettings, prospects: Prospects): FieldProblem[] {
  if (prospects.status !== "finished") return [];
  if (prospects.reason === "max_runs")
    return [{ pointer: "/max_runs", code: "never", detail: "must exceed the runs so far" }];
  const isOver = prospects.reason === "over" && schedule_type === "once";
  return isOver
    ? [{ pointer: "/once_at", code: "never", detail: "must lie in the future" }]
    : [{ pointer: "/expires_at", code: "never", detail: "must be after now and after the next instant" }];
}
