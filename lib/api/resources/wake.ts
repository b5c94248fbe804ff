import type { Database } from "@/lib/db";
import { notifyCancel, notifyChanges, notifyWork } from "@/lib/queue";

/** Wakes all workers, because the lanes with new work are unknown here and an empty poll is cheap. */
export function wakeWorkers(db: Database): void {
  notifyWork(db, "*");
  notifyChanges(db, "*");
}

/** Notifies workers that a job was canceled or is to be canceled. */
export function wakeForCancel(db: Database): void {
  notifyCancel(db);
  notifyChanges(db, "*");
}
