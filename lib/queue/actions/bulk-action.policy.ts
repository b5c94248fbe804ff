import {
  type BulkActionName,
  isCancelable,
  isChangeable,
  isPausable,
  isResumable,
  isRetryable,
  JOB_STATUSES,
  type JobStatus,
} from "../states";
import type { FieldProblem } from "../types";
import { checkJobChange } from "./job-change.policy";
import type { ActionResult, ChosenAction } from "./types";

const IS_FOR: Readonly<Record<BulkActionName, (status: JobStatus) => boolean>> = {
  cancel: isCancelable,
  retry: isRetryable,
  redrive: (status) => status === "dead_letter",
  pause: isPausable,
  resume: isResumable,
  set_priority: isChangeable,
  reschedule: isChangeable,
};

/** Returns the statuses for which an action is legal, out of those requested (none requested = any). */
export function eligibleStatuses(action: BulkActionName, asked: readonly JobStatus[] = []): JobStatus[] {
  return JOB_STATUSES.filter((status) => IS_FOR[action](status) && (asked.length === 0 || asked.includes(status)));
}

/** Returns what is wrong with a bulk action: a value that is missing, out of range, or belongs to another action. */
export function checkChosenAction({ action, priority, scheduled_for: scheduledFor }: ChosenAction): FieldProblem[] {
  const needs = { priority: action === "set_priority", scheduled_for: action === "reschedule" };
  const given = { priority: priority !== undefined, scheduled_for: scheduledFor !== undefined };
  const misplaced = (["priority", "scheduled_for"] as const)
    .filter((field) => needs[field] !== given[field])
    .map((field): FieldProblem => {
      const detail = needs[field] ? `is required for ${action}` : `is not allowed for ${action}`;
      return { pointer: `/${field}`, code: needs[field] ? "required" : "unexpected", detail };
    });
  if (misplaced.length > 0) return misplaced;
  if (!needs.priority && !needs.scheduled_for) return [];
  return checkJobChange({
    ...(priority === undefined ? {} : { priority }),
    ...(scheduledFor ? { scheduled_for: scheduledFor } : {}),
  });
}

export interface ResultCounts {
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
}

/**
 * Counts results. A job that is gone or whose state has changed was skipped; a job refused for another reason failed.
 */
export function countResults(results: readonly ActionResult[]): ResultCounts {
  const done = results.filter((result) => result.code === "done").length;
  const skipped = results.filter((result) => result.code === "not-found" || result.code === "state-conflict").length;
  return { done, skipped, failed: results.length - done - skipped };
}
