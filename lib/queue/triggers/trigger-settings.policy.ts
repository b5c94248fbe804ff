import { checkPayload } from "../enqueue/payload-check.policy";
import type { FieldProblem, ScheduleFields } from "../types";
import type { ScheduleType, TriggerInput, TriggerPatch, TriggerSettings } from "./types";

const DEFAULTS: Omit<TriggerSettings, "label" | "triggerType" | "definitionKey" | "overlapPolicy"> = {
  isEnabled: true,
  queue: null,
  priority: null,
  payloadTemplate: {},
  dedupeWindowSeconds: 300,
  dedupeKeyTemplate: null,
  eventName: null,
  condition: null,
  scheduleType: null,
  cronExpr: null,
  intervalMs: null,
  anchorAt: null,
  onceAt: null,
  timezone: null,
  dstGap: null,
  dstOverlap: null,
  catchUp: "last",
  catchUpLimit: 10,
  jitterSeconds: 0,
  maxRuns: null,
  expiresAt: null,
};

type Field = keyof TriggerSettings;

/** The field with the time, per schedule type. */
const TIME_FIELDS = { cron: "cronExpr", interval: "intervalMs", once: "onceAt" } as const satisfies Record<
  ScheduleType,
  Field
>;
const TYPES = Object.keys(TIME_FIELDS) as ScheduleType[];
/** Fields that apply to one kind of trigger only, with their API names. */
const ONLY_EVENT: readonly (readonly [Field, string])[] = [
  ["eventName", "event_name"],
  ["condition", "condition"],
  ["dedupeKeyTemplate", "dedupe_key_template"],
];
const ONLY_SCHEDULE: readonly (readonly [Field, string])[] = [
  ["scheduleType", "schedule_type"],
  ["cronExpr", "cron_expr"],
  ["intervalMs", "interval_ms"],
  ["anchorAt", "anchor_at"],
  ["onceAt", "once_at"],
  ["timezone", "timezone"],
  ["dstGap", "dst_policy/gap"],
  ["dstOverlap", "dst_policy/overlap"],
];
/** The fields that determine the instants. A change of any of them recomputes the next instant. */
const TIMING: readonly Field[] = ONLY_SCHEDULE.map(([field]) => field);
/** The fields that end a schedule. They change how many instants are left, not when they are. */
const ENDS: readonly Field[] = ["maxRuns", "expiresAt"];

/** The context of a trigger's settings. */
export interface TriggerSurroundings {
  /** The tenant's time zone. */
  readonly timezone: string;
  /** The database's clock. */
  readonly now: Date;
}

/** Returns the settings of a new trigger, with defaults for omitted fields. */
export function newSettings(input: TriggerInput, around: TriggerSurroundings): TriggerSettings {
  const overlapPolicy = input.triggerType === "schedule" ? "skip" : "allow";
  return completed({ ...DEFAULTS, overlapPolicy, ...input }, around);
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
function withoutOldType({ scheduleType }: TriggerSettings, patch: TriggerPatch): TriggerPatch {
  const named = TYPES.filter((type) => patch[TIME_FIELDS[type]] !== undefined && patch[TIME_FIELDS[type]] !== null);
  const next = patch.scheduleType ?? (named.length === 1 ? named[0] : undefined);
  if (!scheduleType || next === undefined || next === scheduleType) return {};
  return { scheduleType: next, [TIME_FIELDS[scheduleType]]: null, anchorAt: null };
}

/** Fills in derived fields: the schedule type, its zone, and the anchor of an interval. */
function completed(settings: TriggerSettings, { timezone, now }: TriggerSurroundings): TriggerSettings {
  if (settings.triggerType === "event") return settings;
  const named = TYPES.filter((type) => settings[TIME_FIELDS[type]] !== null);
  const scheduleType = settings.scheduleType ?? (named.length === 1 ? (named[0] ?? null) : null);
  return {
    ...settings,
    scheduleType,
    timezone: settings.timezone ?? timezone,
    anchorAt: scheduleType === "interval" ? (settings.anchorAt ?? now) : settings.anchorAt,
  };
}

/** Returns the schedule fields of the settings. */
export const scheduleFields = (settings: TriggerSettings): ScheduleFields => ({
  scheduleType: settings.scheduleType,
  cronExpr: settings.cronExpr,
  intervalMs: settings.intervalMs,
  anchorAt: settings.anchorAt,
  onceAt: settings.onceAt,
  timezone: settings.timezone,
  dstGap: settings.dstGap,
  dstOverlap: settings.dstOverlap,
});

/** Returns the problems of the settings alone: fields of the other kind of trigger, and texts that cannot be stored. */
export function settingsProblems(settings: TriggerSettings): FieldProblem[] {
  const isEvent = settings.triggerType === "event";
  const foreign = isEvent ? ONLY_SCHEDULE : ONLY_EVENT;
  const problems = foreign
    .filter(([field]) => settings[field] !== null)
    .map(([, name]) => problem(`/${name}`, "unexpected", `is only for ${isEvent ? "schedule" : "event"} triggers`));
  if (isEvent && settings.eventName === null)
    problems.push(problem("/event_name", "required", "is required for an event trigger"));
  const unstorable = checkPayload(settings.label).map((found) => ({ ...found, pointer: "/label" }));
  return [...problems, ...unstorable];
}

const problem = (pointer: string, code: string, detail: string): FieldProblem => ({ pointer, code, detail });

/** True if a change affects the instants of the schedule. */
export const changesTiming = (before: TriggerSettings, after: TriggerSettings): boolean =>
  TIMING.some((field) => !isSame(before[field], after[field]));

/** True if a change affects when a schedule ends. */
export const changesEnd = (before: TriggerSettings, after: TriggerSettings): boolean =>
  ENDS.some((field) => !isSame(before[field], after[field]));

/** True if a change may have fixed a broken trigger. */
export const mayMend = (patch: TriggerPatch): boolean =>
  Object.keys(patch).some((field) => !["label", "priority", "isEnabled"].includes(field)) || patch.isEnabled === true;

const isSame = (left: unknown, right: unknown): boolean =>
  left instanceof Date && right instanceof Date ? left.getTime() === right.getTime() : left === right;
