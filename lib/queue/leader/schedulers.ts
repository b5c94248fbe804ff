import type { Runner } from "@/lib/db";
import type { TzCounts } from "../types";
import { pruneSchedulersSql, tzVersionsSql } from "./schedulers.sql";
import { isOlderTz, type TzVersion } from "./tz-version.policy";

interface TzRow {
  tz_version: TzVersion;
  workers: number;
  schedulers: number;
}

/** Lists the time-zone data versions of live workers and schedulers, oldest first. */
export async function listTzVersions(db: Runner): Promise<TzCounts[]> {
  const rows = await db.run<TzRow>(tzVersionsSql);
  return rows.sort(
    (a, b) => Number(isOlderTz(b.tz_version, a.tz_version)) - Number(isOlderTz(a.tz_version, b.tz_version)),
  );
}

/** Prunes schedulers without a heartbeat for a day. */
export const pruneSchedulers = async (db: Runner): Promise<void> => void (await db.run(pruneSchedulersSql));
