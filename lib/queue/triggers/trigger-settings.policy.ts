import { isDeepStrictEqual } from "node:util";
import { checkPayload } from "../enqueue/payload-check.policy";
import type { FieldProblem } from "../types";
import type { ScheduleType, TriggerInput, TriggerPatch, TriggerSettings } from "./types";

const DEFAULTS: Omit<TriggerSettings, "label" | "trigger_type" | "definition_key" | "overlap_policy"> = {
  is_enabled: true,
  queue: null,
  priority: null,
  payload_template: {},
  dedupe_window_seconds: 300,
  dedupe_key_template: null,
  event_name: null,
  condition: null,
  schedule_type: null,
  cron_expr: null,
  interval_ms: null,
  anchor_at: null,
  once_at: null,
  timezone: null,
  dst_policy: { gap: null, overlap: null },
  catch_up: "last",
  catch_up_limit: 10,
  jitter_seconds: 0,
  max_runs: null,
  expires_at: null,
};

type Field = keyof TriggerSettings;

/** The field with the time, per schedule type. */
const TIME_FIELDS = { cron: "cron_expr", interval: "interval_ms", once: "once_at" } as const satisfies Record<
  ScheduleType,
  Field
>;
const TYPES = Object.keys(TIME_FIELDS) as ScheduleType[];
/** Fields that apply to one kind of trigger only. */
const ONLY_EVENT: readonly Field[] = ["event_name", "condition", "dedupe_key_template"];
const ONLY_SCHEDULE: readonly Field[] = [
  "schedule_type",
  "cron_expr",
  "interval_ms",
  "anchor_at",
  "once_at",
  "timezone",
  "dst_policy",
];
/** The fields that end a schedule. They change how many instants are left, not when they are. */
const ENDS: readonly Field[] = ["max_runs", "expires_at"];

/** The context of a trigger's settings. */
export interface TriggerSurroundings {
  /** The tenant's time zone. */
  readonly timezone: string;
  /** The database's clock. */
  readonly now: Date;
}

/** Returns the settings of a new trigger, with defaults for omitted fields. */
export function newSettings(input: TriggerInput, around: TriggerSurroundings): TriggerSettings {
  const overlapPolicy = input.trigger_type === "schedule" ? "skip" : "allow";
  return completed({ ...DEFAULTS, overlap_policy: overlapPolicy, ...input }, around);
}

/**
 * Returns the settings after a change. Omitted fields stay. A schedule of another type replaces the old one and
 * clears its fields.
 */
export function changedSettings(
  current: TriggerSettings,
  patch: TriggerPatch,
  around: TriggerSurroundings,
): TriggerSettings {
  return completed({ ...current, ...withoutOldType(current, patch), ...patch }, around);
}

/** Clears the fields of the old type if the patch sets another type, by its name or by its field. */
function withoutOldType({ schedule_type: scheduleType }: TriggerSettings, patch: TriggerPatch): TriggerPatch {
  const named = TYPES.filter((type) => patch[TIME_FIELDS[type]] !== undefined && patch[TIME_FIELDS[type]] !== null);
  const next = patch.schedule_type ?? (named.length === 1 ? named[0] : undefined);
  if (!scheduleType || next === undefined || next === scheduleType) return {};
  return { schedule_type: next, [TIME_FIELDS[scheduleType]]: null, anchor_at: null };
}

/** Fills in derived fields: the schedule type, its zone, and the anchor of an interval. */
function completed(settings: TriggerSettings, { timezone, now }: TriggerSurroundings): TriggerSettings {
  if (settings.trigger_type === "event") return settings;
  const named = TYPES.filter((type) => settings[TIME_FIELDS[type]] !== null);
  const scheduleType = settings.schedule_type ?? (named.length === 1 ? (named[0] ?? null) : null);
  return {
    ...settings,
    schedule_type: scheduleType,
    timezone: settings.timezone ?? timezone,
    anchor_at: scheduleType === "interval" ? (settings.anchor_at ?? now.toISOString()) : settings.anchor_at,
  };
}

/**
 * Returns the problems of the settings alone: fields of the other kind of trigger, a missing event name, and a label
 * that cannot be stored.
 */
export function settingsProblems(settings: TriggerSettings): FieldProblem[] {
  const isEvent = settings.trigger_type === "event";
  const foreign = isEvent ? ONLY_SCHEDULE : ONLY_EVENT;
  const problems = foreign
    .flatMap((field) => pointersTo(settings, field))
    .map((pointer) => problem(pointer, "unexpected", `is only for ${isEvent ? "schedule" : "event"} triggers`));
  if (isEvent && settings.event_name === null)
    problems.push(problem("/event_name", "required", "is required for an event trigger"));
  const unstorable = checkPayload(settings.label).map((found) => ({ ...found, pointer: "/label" }));
  return [...problems, ...unstorable];
}

/** Returns a pointer to each value of a field that is set. */
function pointersTo(settings: TriggerSettings, field: Field): string[] {
  if (field !== "dst_policy") return settings[field] === null ? [] : [`/${field}`];
  const set = Object.entries(settings.dst_policy).filter(([, value]) => value !== null);
  return set.map(([name]) => `/dst_policy/${name}`);
}

const problem = (pointer: string, code: string, detail: string): FieldProblem => ({ pointer, code, detail });

/** True if a change affects the instants of the schedule. */
export const changesTiming = (before: TriggerSettings, after: TriggerSettings): boolean =>
  ONLY_SCHEDULE.some((field) => !isDeepStrictEqual(before[field], after[field]));

/** True if a change affects when a schedule ends. */
export const changesEnd = (before: TriggerSettings, after: TriggerSettings): boolean =>
  ENDS.some((field) => before[field] !== after[field]);

/** True if a change may have fixed a broken trigger. */
export const mayMend = (patch: TriggerPatch): boolean =>
  Object.keys(patch).some((field) => !["label", "priority", "is_enabled"].includes(field)) || patch.is_enabled === true;
