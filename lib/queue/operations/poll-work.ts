import type { Runner } from "@/lib/db";
import type { KnownLane } from "../policy/fairness";
import { describeLanesSql, pollWorkSql } from "../sql/workers";

export interface PolledWork {
  readonly lanes: readonly KnownLane[];
  /** Where the next look goes on; 0 = the lanes were seen to their end. */
  readonly nextAfterLane: number;
  /** Null when there never was a leader. */
  readonly leaderAgeSeconds: number | null;
  /** Changes whenever the definitions or queues do. */
  readonly definitionsVersion: number;
  readonly cancelRequested: readonly string[];
}

interface PolledRow {
  lanes: KnownLane[];
  next_after_lane: number;
  leader_age_seconds: number | null;
  definitions_version: number;
  cancel_requested: string[];
}

/** One look at what there is to do, one statement. Costs the same whatever the backlog is. */
export async function pollWork(
  db: Runner,
  {
    workerId,
    afterLane,
    maxLanes,
  }: { readonly workerId: string; readonly afterLane: number; readonly maxLanes: number },
): Promise<PolledWork> {
  const [row] = await db.run<PolledRow>(pollWorkSql, [workerId, afterLane, maxLanes]);
  return {
    lanes: row?.lanes ?? [],
    nextAfterLane: row?.next_after_lane ?? 0,
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
