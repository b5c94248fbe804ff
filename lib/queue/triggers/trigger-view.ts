import { describeSchedule, readSchedule } from "../schedules/rules";
import { FIRING_OUTCOMES, type JobStatus } from "../states";
import type { Firing, FiringOutcome, RecentFiring, Trigger, TriggerSettings } from "./types";

/** A trigger as the statements return it. */
export type TriggerRow = Omit<Trigger, "description" | "recent_firings" | "recent_outcomes" | "missed_count">;

export type RecentRow = Omit<RecentFiring, "job_status"> & { readonly trigger_id: string };

export type FiringRow = Omit<Firing, "job_status">;

/** Trigger data from other tables, by trigger id. */
export interface TriggerFigures {
  readonly recent: ReadonlyMap<string, readonly RecentFiring[]>;
  readonly missed: ReadonlyMap<string, number>;
}

export function toTrigger(row: TriggerRow, { recent, missed }: TriggerFigures): Trigger {
  const recent_firings = recent.get(row.id) ?? [];
  return {
    ...row,
    description: describe(row),
    recent_firings,
    recent_outcomes: countOutcomes(recent_firings),
    missed_count: missed.get(row.id) ?? 0,
  };
}

function describe(settings: TriggerSettings): string | null {
  if (settings.trigger_type === "event") return null;
  const read = readSchedule(settings);
  return read.rule ? describeSchedule(read.rule) : null;
}

function countOutcomes(firings: readonly RecentFiring[]): Record<FiringOutcome, number> {
  const counts = Object.fromEntries(FIRING_OUTCOMES.map((outcome) => [outcome, 0])) as Record<FiringOutcome, number>;
  for (const { outcome } of firings) counts[outcome]++;
  return counts;
}

type Statuses = ReadonlyMap<string, JobStatus>;

const statusOf = (jobId: string | null, statuses: Statuses) => (jobId === null ? null : (statuses.get(jobId) ?? null));

export const toRecentFiring = ({ trigger_id: _trigger, ...row }: RecentRow, statuses: Statuses): RecentFiring => ({
  ...row,
  job_status: statusOf(row.job_id, statuses),
});

export const toFiring = (row: FiringRow, statuses: Statuses): Firing => ({
  ...row,
  job_status: statusOf(row.job_id, statuses),
});
