import type { Runner } from "@/lib/db";
import { sweepDependentsSql } from "../sql/dependencies";

/** Before every id. */
const START = "00000000-0000-0000-0000-000000000000";

export interface Swept {
  /** Where the next call goes on; undefined = begin anew. */
  readonly last: string | undefined;
  /** Jobs that were blocked although what they waited for was decided. Anything but 0 is a fault that was healed. */
  readonly healed: number;
  readonly laneNos: readonly number[];
}

/** Looks at a part of the blocked jobs and sets right those that nobody would release any more. Safe at any time. */
export async function sweepDependents(
  db: Runner,
  { after = START, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<Swept> {
  const [row] = await db.run<{ last: string | null; healed: number; lanes: number[] }>(sweepDependentsSql, [
    after,
    limit,
  ]);
  return { last: row?.last ?? undefined, healed: row?.healed ?? 0, laneNos: row?.lanes ?? [] };
}
