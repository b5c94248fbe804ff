import type { PreviewRequest, SchedulePreview, ScheduleWarning } from "../../types";
import { nextInstants } from "./instants.policy";
import { describeSchedule } from "./words.policy";

/** Instants closer together than this cause a warning. */
const OFTEN_MS = 60_000;

/**
 * Previews a schedule: its description, its next instants from the same search that the scheduler uses, and warnings.
 */
export function previewSchedule({ rule, after, count, expiresAt, runsLeft }: PreviewRequest): SchedulePreview {
  const most = Math.max(2, count);
  const ahead = nextInstants(rule, after, most)
    .filter(({ at }) => !expiresAt || at < expiresAt)
    .slice(0, Math.max(0, runsLeft ?? most));
  const isOften = ahead.some(({ at }, index) => {
    const next = ahead[index + 1];
    return next !== undefined && next.at.getTime() - at.getTime() < OFTEN_MS;
  });
  const warnings: ScheduleWarning[] = [
    ...(ahead.length === 0 ? (["never"] as const) : []),
    ...(isOften ? (["too_often"] as const) : []),
  ];
  return { description: describeSchedule(rule), occurrences: ahead.slice(0, count), warnings };
}
