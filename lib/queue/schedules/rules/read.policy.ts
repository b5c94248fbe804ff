import type { FieldProblem, GapPolicy, OverlapPolicy, ScheduleFields, ScheduleRule } from "../../types";
import { calendarOf } from "./calendar.policy";
import { LATEST } from "./cron.policy";
import { CronError, tidyCron } from "./grammar.policy";
import { isZone, spellingOf } from "./zone.policy";

/** Problems point at the API's fields: /schedule_type, /cron_expr, /interval_ms, /anchor_at, /once_at, /timezone, … */
export type ReadSchedule =
  | { readonly rule: ScheduleRule; readonly problems?: undefined }
  | { readonly rule?: undefined; readonly problems: readonly FieldProblem[] };

/** Bounds of an interval. The longest is a leap year. */
export const INTERVAL_BOUNDS = { leastMs: 1000, mostMs: 366 * 86_400_000 } as const;

const GAP: readonly GapPolicy[] = ["run_after", "skip"];
const OVERLAP: readonly OverlapPolicy[] = ["first", "both"];

/** A field, as the part of a pointer behind its first slash. */
type Field = Exclude<keyof ScheduleFields, "dst_policy"> | "dst_policy/gap" | "dst_policy/overlap";

/** The fields of each schedule type, besides the zone. */
const OWN_FIELDS = {
  cron: ["cron_expr", "dst_policy/gap", "dst_policy/overlap"],
  interval: ["interval_ms", "anchor_at"],
  once: ["once_at"],
} as const satisfies Record<ScheduleRule["type"], readonly Field[]>;

/**
 * Validates the schedule fields of a trigger and returns a rule, or the problems of each field. The
 * default type is cron.
 * Time and memory are bounded. The result does not depend on today's date: a valid schedule stays valid as long as Node
 * knows its zone.
 */
export function readSchedule(fields: ScheduleFields): ReadSchedule {
  const type = fields.schedule_type ?? "cron";
  if (!isType(type)) return { problems: [problem("schedule_type", "unknown", "must be cron, interval or once")] };
  const problems = [...strangers(type, fields), ...zoneProblems(fields.timezone)];
  const rule = READERS[type](fields, fields.timezone ?? "", problems);
  return rule !== null && problems.length === 0 ? { rule } : { problems };
}

const isType = (type: string): type is ScheduleRule["type"] => Object.hasOwn(OWN_FIELDS, type);

/** Returns the problems of a zone name: it must be an IANA name in its exact spelling. Empty if it is valid. */
export function zoneProblems(name: string | null | undefined): FieldProblem[] {
  if (name === null || name === undefined) return [problem("timezone", "required", "must be an IANA time zone")];
  if (isZone(name)) return [];
  const right = spellingOf(name);
  const hint =
    right === undefined ? "such as Europe/Berlin; abbreviations and offsets are not accepted" : `spelled ${right}`;
  return [problem("timezone", "unknown", `must be an IANA time zone, ${hint}`)];
}

type Reader = (fields: ScheduleFields, timezone: string, problems: FieldProblem[]) => ScheduleRule | null;

const READERS: Record<ScheduleRule["type"], Reader> = {
  cron: (fields, timezone, problems) => {
    const gap = choice(fields, "dst_policy/gap", GAP, problems);
    const overlap = choice(fields, "dst_policy/overlap", OVERLAP, problems);
    const expr = fields.cron_expr;
    if (expr === null || expr === undefined) {
      problems.push(problem("cron_expr", "required", "is needed for a schedule of type cron"));
      return null;
    }
    problems.push(...cronProblems(expr));
    return { type: "cron", expr: tidyCron(expr), timezone, gap, overlap };
  },
  interval: ({ interval_ms, anchor_at }, timezone, problems) => {
    const { leastMs, mostMs } = INTERVAL_BOUNDS;
    const everyMs = interval_ms ?? Number.NaN;
    if (!Number.isInteger(everyMs) || everyMs < leastMs || everyMs > mostMs) {
      problems.push(problem("interval_ms", "range", `must be a whole number from ${leastMs} to ${mostMs}`));
    }
    const anchor = instant(anchor_at, "anchor_at", problems);
    return anchor && { type: "interval", everyMs, anchorAt: anchor, timezone };
  },
  once: ({ once_at }, timezone, problems) => {
    const at = instant(once_at, "once_at", problems);
    return at && { type: "once", at, timezone };
  },
};

function cronProblems(expr: string): FieldProblem[] {
  try {
    calendarOf(tidyCron(expr));
    return [];
  } catch (error) {
    if (error instanceof CronError) return [problem("cron_expr", `cron-${error.code}`, error.message)];
    throw error;
  }
}

function choice<T extends string>(
  fields: ScheduleFields,
  name: "dst_policy/gap" | "dst_policy/overlap",
  allowed: readonly T[],
  problems: FieldProblem[],
): T | null {
  const value = valueAt(fields, name);
  if (value === null) return null;
  const found = allowed.find((one) => one === value);
  if (found === undefined) problems.push(problem(name, "unknown", `must be ${allowed.join(" or ")}, or null`));
  return found ?? null;
}

function instant(
  value: string | null | undefined,
  name: "anchor_at" | "once_at",
  problems: FieldProblem[],
): Date | null {
  if (value === null || value === undefined) {
    problems.push(problem(name, "required", "is needed for a schedule of this type"));
    return null;
  }
  const time = Date.parse(value);
  if (time >= 0 && time <= LATEST) return new Date(time);
  problems.push(problem(name, "range", "must lie between 1970 and 9999"));
  return null;
}

function valueAt(fields: ScheduleFields, name: Field): string | number | null {
  if (name === "dst_policy/gap") return fields.dst_policy?.gap ?? null;
  return (name === "dst_policy/overlap" ? fields.dst_policy?.overlap : fields[name]) ?? null;
}

function strangers(type: ScheduleRule["type"], fields: ScheduleFields): FieldProblem[] {
  return Object.entries(OWN_FIELDS).flatMap(([owner, names]) =>
    owner === type
      ? []
      : names
          .filter((name) => valueAt(fields, name) !== null)
          .map((name) => problem(name, "other-type", `is for schedules of type ${owner}`)),
  );
}

const problem = (field: Field, code: string, detail: string): FieldProblem => ({ pointer: `/${field}`, code, detail });
