import { isStorableDate, JOB_BOUNDS } from "../enqueue/new-job.policy";
import type { FieldProblem } from "../types";
import type { JobChange } from "./types";

/** Returns what is wrong with a change of a waiting job. Pointers have API field names. */
export function checkJobChange({ priority, scheduled_for }: JobChange): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const [min, max] = JOB_BOUNDS.priority;
  if (priority === undefined && scheduled_for === undefined)
    problems.push({ pointer: "", code: "required", detail: "must name priority, scheduled_for or both" });
  if (priority !== undefined && (!Number.isInteger(priority) || priority < min || priority > max))
    problems.push({ pointer: "/priority", code: "range", detail: `must be a whole number from ${min} to ${max}` });
  if (scheduled_for !== undefined && !isStorableDate(new Date(scheduled_for)))
    problems.push({ pointer: "/scheduled_for", code: "date", detail: "must be a time from 1970 to 9999" });
  return problems;
}
