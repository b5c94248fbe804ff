import type { Database, TenantTransaction } from "@/lib/db";
import { validatorOf } from "../definitions/payload-validators";
import { findDefinition } from "../definitions/read-definitions";
import { inTenant } from "../read/get-job";
import { instantAt, previewSchedule, readSchedule } from "../schedules/rules";
import type { TenantScope } from "../types";
import { invalidTrigger } from "./check-trigger";
import { readSurroundings } from "./trigger-row";
import { newSettings } from "./trigger-settings.policy";
import { compileTriggerTemplate, renderTriggerTemplate, type ScheduleContext } from "./trigger-template.policy";
import type { TemplateExample, TriggerInput, TriggerPreview } from "./types";

export interface PreviewInput {
  readonly schedule: Omit<TriggerInput, "label" | "trigger_type" | "definition_key">;
  /** RFC 3339: instants strictly after this one; default: the database's now. */
  readonly after?: string;
  readonly count: number;
  /** Also rendered for the first instant, and checked against the definition's schema if one is named. */
  readonly template?: PreviewTemplate;
}

interface PreviewTemplate {
  readonly source: unknown;
  readonly definitionKey?: string;
  readonly label?: string;
}

/** Placeholder id for a trigger that is not stored. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

/** Previews a schedule with the engine that will fire it. @throws QueueError invalid-value, tenant-suspended */
export function previewTrigger(
  db: Database | TenantTransaction,
  scope: TenantScope,
  { schedule, after, count, template }: PreviewInput,
): Promise<TriggerPreview> {
  return inTenant(db, scope, async (tx) => {
    const around = await readSurroundings(tx);
    const settings = newSettings({ ...schedule, label: "", trigger_type: "schedule", definition_key: "" }, around);
    const read = readSchedule(settings);
    if (read.problems) throw invalidTrigger(read.problems);
    const { expires_at, max_runs: runsLeft } = settings;
    const expiresAt = expires_at === null ? null : new Date(expires_at);
    const from = after === undefined ? around.now : new Date(after);
    const preview = previewSchedule({ rule: read.rule, after: from, count, expiresAt, runsLeft });
    const shown = { ...preview, occurrences: preview.occurrences.map((one) => ({ ...one, at: one.at.toISOString() })) };
    if (template === undefined) return shown;
    const { at, local } = preview.occurrences[0] ?? instantAt(read.rule, from);
    return { ...shown, example: await renderExample(tx, template, { at: at.toISOString(), local }) };
  });
}

async function renderExample(
  tx: TenantTransaction,
  { source, definitionKey, label = "" }: PreviewTemplate,
  instant: Pick<ScheduleContext["schedule"], "at" | "local">,
): Promise<TemplateExample> {
  const compiled = compileTriggerTemplate(source, "schedule");
  if ("problems" in compiled) return { payload: null, problems: compiled.problems };
  const trigger = { id: NO_ID, label };
  const schedule = { ...instant, trigger_id: trigger.id, label };
  const rendered = renderTriggerTemplate(compiled.template, { schedule, trigger });
  if ("problems" in rendered) return { payload: null, problems: rendered.problems };
  const definition = definitionKey === undefined ? null : await findDefinition(tx, definitionKey);
  return { payload: rendered.payload, problems: definition ? validatorOf(definition)(rendered.payload) : [] };
}
