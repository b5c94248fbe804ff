import { nextInstant, readSchedule } from "@/lib/queue/schedules/rules";
import type { FieldProblem, ScheduleFields, ScheduleRule } from "@/lib/queue/types";

/** Returns the rule of valid fields. */
export function ruleOf(fields: ScheduleFields): ScheduleRule {
  const { rule, problems } = readSchedule({ timezone: "UTC", ...fields });
  if (!rule) throw new Error(`not valid: ${JSON.stringify(problems)}`);
  return rule;
}

export const cron = (cronExpr: string, timezone = "UTC", more: ScheduleFields = {}): ScheduleRule =>
  ruleOf({ cron_expr: cronExpr, timezone, ...more });

/** Instants after `after` and up to `until`, if given, formatted as "2026-03-08T07:00Z". */
export function instants(rule: ScheduleRule, after: string, most: number, until = "9999-12-31T00:00:00Z"): string[] {
  const found: string[] = [];
  for (let last = new Date(after); found.length < most; ) {
    const next = nextInstant(rule, last);
    if (next === null || next.at > new Date(until)) break;
    found.push(next.at.toISOString().replace(":00.000Z", "Z"));
    last = next.at;
  }
  return found;
}

/** The only problem of an expression or of other fields. */
export function refusal(fields: ScheduleFields | string): FieldProblem {
  const given = typeof fields === "string" ? { cron_expr: fields } : fields;
  const { problems } = readSchedule({ timezone: "UTC", ...given });
  const [problem, ...others] = problems ?? [];
  if (!problem || others.length > 0) throw new Error(`${problems?.length ?? 0} problems: ${JSON.stringify(problems)}`);
  return problem;
}
