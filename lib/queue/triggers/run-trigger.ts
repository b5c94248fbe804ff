import type { Database, TenantTransaction } from "@/lib/db";
import { acceptJob } from "../enqueue/enqueue-jobs";
import { QueueError } from "../errors";
import { runHeldSql } from "../events/held-firings.sql";
import { inTenant } from "../read/get-job";
import { instantAt } from "../schedules/rules";
import type { Job, TenantScope } from "../types";
import { ruleOf } from "./check-trigger";
import { auditTrigger, readSurroundings, triggerNotFound } from "./trigger-row";
import { compileTriggerTemplate, renderTriggerTemplate, type TemplateContext } from "./trigger-template.policy";
import { type FiringRow, type TriggerRow, toFiring } from "./trigger-view";
import { getTriggerSql, insertManualFiringSql } from "./triggers.sql";
import type { Firing } from "./types";

export interface RunRequest {
  readonly triggerId: string;
  /** Used instead of the rendered template. */
  readonly payload?: unknown;
  /**
   * Data of an example event, for an event trigger's template. If neither it nor a payload is given, the run uses the
   * data of the trigger's newest held firing, if any, and ends that firing.
   */
  readonly event?: unknown;
  /** The chain depth of the new job: the length of the chain of jobs that led to it. */
  readonly chainDepth?: number;
}

/**
 * Runs a trigger once, on request. Works also for a trigger that is disabled, finished or broken. Ignores the overlap
 * policy and the dedupe key, and does not count against max_runs.
 * @throws QueueError not-found, tenant-suspended; invalid-value if the template cannot be rendered; the
 * rest like `enqueueJob`
 */
export function runTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  request: RunRequest,
): Promise<{ readonly job: Job; readonly firing: Firing }> {
  return inTenant(db, scope, async (tx) => {
    const { now } = await readSurroundings(tx);
    const [row] = await tx.run<TriggerRow>(getTriggerSql, [scope.tenantId, request.triggerId]);
    if (!row) throw triggerNotFound();
    const isBare = !("payload" in request) && request.event === undefined;
    const [held] = isBare ? await tx.run<{ data: unknown }>(runHeldSql, [scope.tenantId, row.id]) : [];
    const event = held ? held.data : request.event;
    const { view: job } = await acceptJob(tx, scope, {
      definitionKey: row.definition_key,
      payload: "payload" in request ? request.payload : render(row, contextOf(row, event, now)),
      source: "manual",
      sourceRef: row.id,
      chainDepth: request.chainDepth ?? 0,
      ...(row.queue === null ? {} : { queue: row.queue }),
      ...(row.priority === null ? {} : { priority: row.priority }),
    });
    const [firing] = await tx.run<FiringRow>(insertManualFiringSql, [scope.tenantId, row.id, job.id]);
    if (!firing) throw triggerNotFound();
    await auditTrigger(tx, scope, { triggerId: row.id, action: "trigger.run", jobId: job.id });
    return { job, firing: toFiring(firing, new Map([[job.id, job.status]])) };
  });
}

function contextOf(row: TriggerRow, event: unknown, now: Date): TemplateContext {
  const trigger = { id: row.id, label: row.label };
  const at = now.toISOString();
  const read = ruleOf(row);
  if (row.trigger_type === "schedule") {
    const local = read.rule ? instantAt(read.rule, now).local : at;
    return { schedule: { at, local, trigger_id: row.id, label: row.label }, trigger };
  }
  const meta = {
    id: row.id,
    name: row.event_name ?? "",
    received_at: at,
    producer_id: null,
    correlation_id: null,
    source: "api",
  };
  return { event: event ?? {}, meta, trigger };
}

function render(row: TriggerRow, context: TemplateContext): unknown {
  const compiled = compileTriggerTemplate(row.payload_template, row.trigger_type);
  const rendered = "problems" in compiled ? compiled : renderTriggerTemplate(compiled.template, context);
  if (!("problems" in rendered)) return rendered.payload;
  const problems = rendered.problems.map((found) => ({ ...found, pointer: `/payload_template${found.pointer}` }));
  throw new QueueError("invalid-value", "The template cannot be filled in; send an event or a payload.", { problems });
}
