import type { Runner } from "@/lib/db";
import { expireWaitingSql, promoteDueSql } from "../sql/rescue";

interface LaneCount {
  lane_no: number;
  n: number;
  /** Lanes of jobs that waited for those that ended. */
  released?: number[] | null;
}

export interface Promoted {
  readonly laneNos: number[];
  readonly count: number;
}

const total = (rows: readonly LaneCount[]): Promoted => ({
  laneNos: [...new Set([...rows.map((row) => row.lane_no), ...(rows[0]?.released ?? [])])],
  count: rows.reduce((sum, row) => sum + row.n, 0),
});

/** Makes jobs claimable whose time has come, oldest first; safe for any number of callers at once. */
export async function promoteDueJobs(db: Runner, { limit }: { readonly limit: number }): Promise<Promoted> {
  return total(await db.run<LaneCount>(promoteDueSql, [limit]));
}

/** Ends jobs as expired whose expires_at passed before an attempt of theirs began to run. */
export async function expireJobs(db: Runner, { limit }: { readonly limit: number }): Promise<Promoted> {
  return total(await db.run<LaneCount>(expireWaitingSql, [limit]));
}
