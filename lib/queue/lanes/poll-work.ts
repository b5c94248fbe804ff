import type { Runner } from "@/lib/db";
import type { KnownLane } from "./fairness.policy";
import { describeLanesSql, pollFreshSql, pollWorkSql } from "./poll-work.sql";

/** A lane with ready jobs. `head` is the least sort key of the jobs that the poll saw. */
export interface PolledLane extends KnownLane {
  readonly head?: number;
}

export interface PolledWork {
  readonly lanes: readonly PolledLane[];
  /** Where the next poll continues; 0 = all lanes were seen. */
  readonly nextAfterLane: number;
  /** Null if there was never a leader. */
  readonly leaderAgeSeconds: number | null;
  /** Changes whenever a definition or queue changes. */
  readonly definitionsVersion: number;
  readonly cancelRequested: readonly string[];
}

/** Jobs enqueued at most this many seconds ago count as fresh. */
const FRESH_SECONDS = 3;

interface PolledRow {
  lanes: PolledLane[];
  next_after_lane: number;
  leader_age_seconds: number | null;
  definitions_version: number;
  cancel_requested: string[];
}

/**
 * Polls for lanes with ready jobs, in one statement. The cost does not depend on the backlog.
 * While an old snapshot is held, the poll also reads the index entries of every job claimed since. `freshOnly` avoids
 * that cost, but finds only lanes of new jobs.
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

/** Returns the lanes named by a wake-up, without those that are paused. */
export async function describeLanes(db: Runner, laneNos: readonly number[]): Promise<KnownLane[]> {
  if (laneNos.length === 0) return [];
  const [row] = await db.run<{ lanes: KnownLane[] }>(describeLanesSql, [laneNos]);
  return row?.lanes ?? [];
}
