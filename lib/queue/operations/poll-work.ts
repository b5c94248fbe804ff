import type { Runner } from "@/lib/db";
import type { KnownLane } from "../policy/fairness";
import { describeLanesSql, pollWorkSql } from "../sql/workers";

export interface PolledWork {
  readonly lanes: readonly KnownLane[];
  /** Where the next look goes on; 0 = the lanes were seen to their end. */
  readonly nextAfterLane: number;
  /** Null when there never was a leader. */
  readonly leaderAgeSeconds: number | null;
  readonly held: number;
  /** Changes whenever the definitions or queues do. */
  readonly definitionsVersion: number;
  readonly cancelRequested: readonly string[];
}

interface PolledRow {
  lanes: KnownLane[];
  leader_age_seconds: number | null;
  held: number;
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
  const lanes = row?.lanes ?? [];
  return {
    lanes,
    nextAfterLane: lanes.length < maxLanes ? 0 : Math.max(...lanes.map((lane) => lane.laneNo)),
    leaderAgeSeconds: row?.leader_age_seconds ?? null,
    held: row?.held ?? 0,
    definitionsVersion: row?.definitions_version ?? 0,
    cancelRequested: row?.cancel_requested ?? [],
  };
}

interface LaneRow {
  lane_no: number;
  tenant_id: string;
  definition_id: string;
  queue_id: number;
  band: number;
}

/** What the lanes named by a wake-up are. */
export async function describeLanes(db: Runner, laneNos: readonly number[]): Promise<KnownLane[]> {
  if (laneNos.length === 0) return [];
  const rows = await db.run<LaneRow>(describeLanesSql, [laneNos]);
  return rows.map((row) => ({
    laneNo: row.lane_no,
    tenantId: row.tenant_id,
    definitionId: row.definition_id,
    queueId: row.queue_id,
    band: row.band,
  }));
}
