import type { Database, Runner, TenantTransaction } from "@/lib/db";
import { notifyEnqueued } from "../notify";
import type { EnqueuedRow } from "./insert-items";

/** Notifies workers and live feeds of new jobs, in a transaction after its commit. Returns the rows. */
export function notifyOfEnqueued<R extends readonly EnqueuedRow[]>(db: Database | TenantTransaction, rows: R): R {
  const work = new Set<number>();
  const changes = new Set<number>();
  for (const { conflict, ready, lane_no } of rows) {
    if (conflict === "returned") continue;
    changes.add(lane_no);
    if (ready) work.add(lane_no);
  }
  const wake = (pool: Runner) => notifyEnqueued(pool, { work: [...work], changes: [...changes] });
  if ("inTransaction" in db) db.afterCommit(wake);
  else wake(db);
  return rows;
}
