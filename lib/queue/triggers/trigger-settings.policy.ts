import { checkPayload } from "../enqueue/payload-check.policy";
import type { Problem, ScheduleFields } from "../types";
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

/** The field that says when, for each type of schedule. */
const TIME_FIELDS = { cron: "cronExpr", interval: "intervalMs", once: "onceAt" } as const satisfies Record<
  ScheduleType,
  Field
>;
const TYPES = Object.keys(TIME_FIELDS) as ScheduleType[];
/** Fields that mean something for one kind of trigger only, with their names in the API. */
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
/** What instants follow from; a change of one of them makes the next instant be computed again. */
const TIMING: readonly Field[] = ONLY_SCHEDULE.map(([field]) => field);
/** What ends a schedule. It changes which instants are left, never when they are. */
const ENDS: readonly Field[] = ["maxRuns", "expiresAt"];

/** What is known of the trigger's surroundings. */
export interface TriggerSurroundings {
  /** The zone of its tenant. */
  readonly timezone: string;
  /** The database's clock. */
  readonly now: Date;
}

/** The settings of a new trigger: what is left out gets its default. */
export function newSettings(input: TriggerInput, around: TriggerSurroundings): TriggerSettings {
  const overlapPolicy = input.triggerType === "schedule" ? "skip" : "allow";
  return completed({ ...DEFAULTS, overlapPolicy, ...input }, around);
}

/**
 * The settings after a change: what is left out stays. A schedule of another type takes the place of the old one, whose
 * fields go with it.
 */
export function changedSettings(
  current: TriggerSettings,
  patch: TriggerPatch,
  around: TriggerSurroundings,
): TriggerSettings {
  return completed({ ...current, ...withoutOldType(current, patch), ...patch }, around);
}

/** The fields of the old type, emptied, when the change names another one; by its name or by its field. */
function withoutOldType({ scheduleType }: TriggerSettings, patch: TriggerPatch): TriggerPatch {
  const named = TYPES.filter((type) => patch[TIME_FIELDS[type]] !== undefined && patch[TIME_FIELDS[type]] !== null);
  const next = patch.scheduleType ?? (named.length === 1 ? named[0] : undefined);
  if (!scheduleType || next === undefined || next === scheduleType) return {};
  return { scheduleType: next, [TIME_FIELDS[scheduleType]]: null, anchorAt: null };
}

/** Says what follows from the rest: the type of a schedule, its zone, and where an interval counts from. */
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

/** The part of the settings that the time engine reads. */
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

/** What is wrong with settings by themselves: kinds that do not go together, and texts that cannot be stored. */
export function settingsProblems(settings: TriggerSettings): Problem[] {
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

const problem = (pointer: string, code: string, detail: string): Problem => ({ pointer, code, detail });

/** Whether a change is one of what instants follow from. */
export const changesTiming = (before: TriggerSettings, after: TriggerSettings): boolean =>
  TIMING.some((field) => !isSame(before[field], after[field]));

/** Whether a change is one of when a schedule ends. */
export const changesEnd = (before: TriggerSettings, after: TriggerSettings): boolean =>
  ENDS.some((field) => !isSame(before[field], after[field]));

/** Whether a change may have mended what broke a trigger. */
export const mayMend = (patch: TriggerPatch): boolean =>
  Object.keys(patch).some((field) => !["label", "priority", "isEnabled"].includes(field)) || patch.isEnabled === true;

const isSame = (left: unknown, right: unknown): boolean =>
  left instanceof Date && right instanceof Date ? left.getTime() === right.getTime() : left === right;
