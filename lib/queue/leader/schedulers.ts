import type { Runner } from "@/lib/db";
import type { TzUse } from "../types";
import { pruneSchedulersSql, tzVersionsSql } from "./schedulers.sql";
import { isOlderTz, type TzVersion } from "./tz-version.policy";

interface TzRow {
  tz_version: TzVersion;
  workers: number;
  schedulers: number;
}

/** Lists the time-zone data versions of live workers and schedulers, oldest first. */
export async function listTzVersions(db: Runner): Promise<TzUse[]> {
  const rows = await db.run<TzRow>(tzVersionsSql);
  return rows
    .map(({ tz_version: tzVersion, workers, schedulers }) => ({ tzVersion, workers, schedulers }))
    .sort((a, b) => Number(isOlderTz(b.tzVersion, a.tzVersion)) - Number(isOlderTz(a.tzVersion, b.tzVersion)));
}

/** Prunes schedulers without a heartbeat for a day. */
export const pruneSchedulers = async (db: Runner): Promise<void> => void (await db.run(pruneSchedulersSql));
