import type { Runner } from "@/lib/db";
import { expireWaitingSql, promoteDueSql } from "../sql/rescue";

interface LaneCount {
  lane_no: number;
  n: number;
}

export interface Promoted {
  readonly laneNos: number[];
  readonly count: number;
}

const total = (rows: readonly LaneCount[]): Promoted => ({
  laneNos: rows.map((row) => row.lane_no),
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
