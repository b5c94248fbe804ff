/*
 * The trigger form as plain data: its fields, the body it sends, the patch of an edit, and the merge with concurrent
 * edits.
 */

import type { CreateTrigger, PreviewTrigger, Trigger, UpdateTrigger } from "@/lib/contract";
import { instantOf, localInput } from "../forms/local-input";
import { parseJsonText } from "./schema-form";

/** The form's fields as text, by the names of the API. One field of the API may be several here. */
export const BLANK_TRIGGER = {
  trigger_type: "schedule",
  label: "",
  is_enabled: "true",
  definition_key: "",
  payload_template: "{}",
  queue: "",
  priority: "",
  event_name: "",
  condition: "",
  dedupe_key_template: "",
  dedupe_window_seconds: "300",
  schedule_type: "cron",
  cron_expr: "0 2 * * *",
  interval_every: "15",
  interval_unit: "minutes",
  anchor_at: "",
  once_at: "",
  timezone: "",
  dst_gap: "",
  dst_overlap: "",
  overlap_policy: "skip",
  catch_up: "last",
  catch_up_limit: "10",
  jitter_seconds: "0",
  max_runs: "",
  expires_at: "",
};
export type TriggerFields = typeof BLANK_TRIGGER;
export type FieldName = keyof TriggerFields;

export const UNIT_MS = { seconds: 1000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;
type Unit = keyof typeof UNIT_MS;
const UNITS = Object.keys(UNIT_MS) as Unit[];

/** Returns a trigger's values as form fields. */
export function triggerFieldsOf(trigger: Trigger): TriggerFields {
  const text = (value: string | number | null) => (value === null ? "" : String(value));
  const local = (value: string | null) => (value === null ? "" : localInput(value));
  const unit = UNITS.findLast((one) => (trigger.interval_ms ?? 1) % UNIT_MS[one] === 0);
  return {
    ...BLANK_TRIGGER,
    ...(trigger.interval_ms === null
      ? {}
      : {
          interval_every: String(trigger.interval_ms / UNIT_MS[unit ?? "seconds"]),
          interval_unit: unit ?? "seconds",
        }),
    trigger_type: trigger.trigger_type,
    label: trigger.label,
    is_enabled: String(trigger.is_enabled),
    definition_key: trigger.definition_key,
    payload_template: JSON.stringify(trigger.payload_template, null, 2),
    queue: text(trigger.queue),
    priority: text(trigger.priority),
    event_name: text(trigger.event_name),
    condition: text(trigger.condition),
    dedupe_key_template: text(trigger.dedupe_key_template),
    dedupe_window_seconds: text(trigger.dedupe_window_seconds),
    schedule_type: trigger.schedule_type ?? BLANK_TRIGGER.schedule_type,
    cron_expr: trigger.cron_expr ?? BLANK_TRIGGER.cron_expr,
    anchor_at: local(trigger.anchor_at),
    once_at: local(trigger.once_at),
    timezone: text(trigger.timezone),
    dst_gap: text(trigger.dst_policy.gap),
    dst_overlap: text(trigger.dst_policy.overlap),
    overlap_policy: trigger.overlap_policy,
    catch_up: trigger.catch_up,
    catch_up_limit: text(trigger.catch_up_limit),
    jitter_seconds: text(trigger.jitter_seconds),
    max_runs: text(trigger.max_runs),
    expires_at: local(trigger.expires_at),
  };
}

/** Values that cannot be sent, by field. The server validates everything else. */
export type FieldFaults = ReadonlyMap<string, string>;
export type TriggerBody = Readonly<Record<string, unknown>>;

/** Returns the whole trigger as the API takes it. */
export function triggerBodyOf(fields: TriggerFields): { readonly body: TriggerBody; readonly faults: FieldFaults } {
  const faults = new Map<string, string>();
  const template = parseJsonText(fields.payload_template);
  if (template.fault) faults.set("payload_template", template.fault);
  const number = numberReader(fields, faults);
  const isEvent = fields.trigger_type === "event";
  const body = {
    trigger_type: fields.trigger_type,
    label: fields.label.trim(),
    is_enabled: fields.is_enabled === "true",
    definition_key: fields.definition_key,
    payload_template: template.value,
    queue: fields.queue.trim() || null,
    priority: number("priority"),
    overlap_policy: fields.overlap_policy,
    max_runs: number("max_runs"),
    expires_at: instantOf(fields.expires_at),
    ...(isEvent ? eventBody(fields, number) : { ...scheduleBody(fields, number), ...pastBody(fields, number) }),
  };
  if (body.label === "") faults.set("label", "Give it a name.");
  if (body.definition_key === "") faults.set("definition_key", "Choose what is to run.");
  return { body, faults };
}

type ReadNumber = (name: FieldName, otherwise?: number) => number | null;

function numberReader(fields: TriggerFields, faults: Map<string, string>): ReadNumber {
  return (name, otherwise) => {
    const text = fields[name].trim();
    if (text === "") return otherwise ?? null;
    const value = Number(text);
    if (Number.isInteger(value)) return value;
    faults.set(name, "This must be a whole number.");
    return null;
  };
}

const eventBody = (fields: TriggerFields, number: ReadNumber) => ({
  event_name: fields.event_name.trim(),
  condition: fields.condition.trim() || null,
  dedupe_key_template: fields.dedupe_key_template.trim() || null,
  dedupe_window_seconds: number("dedupe_window_seconds", 0),
});

const pastBody = (fields: TriggerFields, number: ReadNumber) => ({
  catch_up: fields.catch_up,
  catch_up_limit: number("catch_up_limit", 10),
  jitter_seconds: number("jitter_seconds", 0),
});

/** Clears the fields of the other types, so that a change of the type leaves none of them behind. */
function scheduleBody(fields: TriggerFields, number: ReadNumber) {
  const { schedule_type: type } = fields;
  const every = type === "interval" ? number("interval_every", 0) : null;
  const unit = UNITS.find((one) => one === fields.interval_unit) ?? "minutes";
  const isCron = type === "cron";
  return {
    schedule_type: type,
    cron_expr: isCron ? fields.cron_expr : null,
    interval_ms: every === null ? null : every * UNIT_MS[unit],
    anchor_at: type === "interval" ? instantOf(fields.anchor_at) : null,
    once_at: type === "once" ? instantOf(fields.once_at) : null,
    timezone: fields.timezone.trim() || null,
    dst_policy: {
      gap: isCron && fields.dst_gap !== "" ? fields.dst_gap : null,
      overlap: isCron && fields.dst_overlap !== "" ? fields.dst_overlap : null,
    },
  };
}

/**
 * Returns the preview request for the schedule in the form; null if the trigger has no schedule, or an incomplete one.
 */
export function previewBodyOf(fields: TriggerFields): PreviewTrigger | null {
  if (fields.trigger_type === "event" || (fields.schedule_type === "once" && fields.once_at === "")) return null;
  const number = numberReader(fields, new Map());
  const { value, fault } = parseJsonText(fields.payload_template);
  return {
    ...scheduleBody(fields, number),
    expires_at: instantOf(fields.expires_at),
    count: 10,
    ...(fault ? {} : { payload_template: value, label: fields.label }),
    ...(fault || fields.definition_key === "" ? {} : { definition_key: fields.definition_key }),
  } as PreviewTrigger;
}

/** Returns the differences between two states of the form as a patch; null if there are none. */
export function patchOf(base: TriggerFields, now: TriggerFields): UpdateTrigger | null {
  const before = triggerBodyOf(base).body;
  const entries = Object.entries(triggerBodyOf(now).body).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return entries.length === 0 ? null : (Object.fromEntries(entries) as UpdateTrigger);
}

export const createBodyOf = (fields: TriggerFields): CreateTrigger =>
  triggerBodyOf(fields).body as unknown as CreateTrigger;

/** A field changed by another user in the meantime; `mine` is set if this user changed it too. */
export interface Clash {
  readonly name: FieldName;
  readonly before: string;
  readonly theirs: string;
  readonly mine: string | null;
}

/**
 * Merges this user's edits of `base` with another user's version: fields this user has not changed take the other's
 * value.
 */
export function mergeFields(
  base: TriggerFields,
  mine: TriggerFields,
  theirs: TriggerFields,
): { readonly fields: TriggerFields; readonly clashes: readonly Clash[] } {
  const names = Object.keys(base) as FieldName[];
  const isMine = (name: FieldName) => mine[name] !== base[name];
  const fields = Object.fromEntries(names.map((name) => [name, isMine(name) ? mine[name] : theirs[name]]));
  const clashes = names
    .filter((name) => theirs[name] !== base[name])
    .map((name) => ({ name, before: base[name], theirs: theirs[name], mine: isMine(name) ? mine[name] : null }));
  return { fields: fields as TriggerFields, clashes };
}
