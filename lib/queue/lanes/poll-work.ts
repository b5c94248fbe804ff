import type { Runner } from "@/lib/db";
import type { KnownLane } from "./fairness.policy";
import { describeLanesSql, pollFreshSql, pollWorkSql } from "./poll-work.sql";

/** A lane with ready jobs, and the least sort key of those that the poll saw. */
export interface PolledLane extends KnownLane {
  readonly head?: number;
}

export interface PolledWork {
  readonly lanes: readonly PolledLane[];
  /** Where the next look goes on; 0 = the lanes were seen to their end. */
  readonly nextAfterLane: number;
  /** Null when there never was a leader. */
  readonly leaderAgeSeconds: number | null;
  /** Changes whenever the definitions or queues do. */
  readonly definitionsVersion: number;
  readonly cancelRequested: readonly string[];
}

/** Jobs that are at most this old count as new. */
const FRESH_SECONDS = 3;

interface PolledRow {
  lanes: PolledLane[];
  next_after_lane: number;
  leader_age_seconds: number | null;
  definitions_version: number;
  cancel_requested: string[];
}

/**
 * One look at what there is to do, one statement. Costs the same whatever the backlog is. While an old snapshot is held,
 * it reads over everything that was claimed since; `freshOnly` does not, and sees lanes of new jobs only.
 */
export async function pollWork(
  db: Runner,
  {
    workerId,
    afterLane,
    maxLanes,
    freshOnly = false,
  }: { readonly workerId: string; readonly afterLane: number; readonly maxLanes: number; readonly freshOnly?: boolean },
): Promise<PolledWork> {
  const [row] = freshOnly
    ? await db.run<PolledRow>(pollFreshSql, [workerId, FRESH_SECONDS, maxLanes])
    : await db.run<PolledRow>(pollWorkSql, [workerId, afterLane, maxLanes]);
  return {
    lanes: row?.lanes ?? [],
    nextAfterLane: freshOnly ? afterLane : (row?.next_after_lane ?? 0),
    leaderAgeSeconds: row?.leader_age_seconds ?? null,
    definitionsVersion: row?.definitions_version ?? 0,
    cancelRequested: row?.cancel_requested ?? [],
  };
}

/** What the lanes named by a wake-up are; paused ones are left out. */
export async function describeLanes(db: Runner, laneNos: readonly number[]): Promise<KnownLane[]> {
  if (laneNos.length === 0) return [];
  const [row] = await db.run<{ lanes: KnownLane[] }>(describeLanesSql, [laneNos]);
  return row?.lanes ?? [];
}
