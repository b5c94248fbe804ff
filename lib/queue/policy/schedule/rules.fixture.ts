import { nextInstants, readSchedule } from "@/lib/queue/policy/schedule";
import type { Problem, ScheduleFields, ScheduleRule } from "@/lib/queue/types";

/** A rule that is meant to be valid. */
export function ruleOf(fields: ScheduleFields): ScheduleRule {
  const { rule, problems } = readSchedule({ timezone: "UTC", ...fields });
  if (!rule) throw new Error(`not valid: ${JSON.stringify(problems)}`);
  return rule;
}

export const cron = (cronExpr: string, timezone = "UTC", more: ScheduleFields = {}): ScheduleRule =>
  ruleOf({ cronExpr, timezone, ...more });

/** Instants after `after` (an RFC 3339 text) and, if `until` is given, up to it, as "2026-03-08T07:00Z". */
export function instants(rule: ScheduleRule, after: string, most: number, until = "9999-12-31T00:00:00Z"): string[] {
  return nextInstants(rule, new Date(after), most)
    .filter(({ at }) => at <= new Date(until))
    .map(({ at }) => at.toISOString().replace(":00.000Z", "Z"));
}

/** What is wrong with an expression or with other fields; one problem is expected. */
export function refusal(fields: ScheduleFields | string): Problem {
  const given = typeof fields === "string" ? { cronExpr: fields } : fields;
  const { problems } = readSchedule({ timezone: "UTC", ...given });
  const [problem, ...others] = problems ?? [];
  if (!problem || others.length > 0) throw new Error(`${problems?.length ?? 0} problems: ${JSON.stringify(problems)}`);
  return problem;
}
