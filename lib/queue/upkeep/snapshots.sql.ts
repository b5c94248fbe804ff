import { statement } from "@/lib/db";

/** The holders of snapshots in this database, oldest xmin first: vacuum waits for that one first. */
export const snapshotHoldersSql = statement(
  "snapshot_holders",
  `select h.* from app.snapshot_holders() h
   where h.seconds is null or h.seconds >= $1 order by h.xmin_age desc limit 20`,
  { repeatable: true },
);
export const seesAllSessionsSql = statement("sees_all_sessions", "select app.sees_all_sessions() as sees_all");
