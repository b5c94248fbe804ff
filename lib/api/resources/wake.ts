import type { Database } from "@/lib/db";
import { notifyCancel, notifyChanges, notifyWork } from "@/lib/queue";

/** There may be new work anywhere: which lanes is not known here, and a poll that finds nothing is cheap. */
export function wakeWorkers(db: Database): void {
  notifyWork(db, "*");
  notifyChanges(db, "*");
}

/** A job was canceled, or is to be. */
export function wakeForCancel(db: Database): void {
  notifyCancel(db);
  notifyChanges(db, "*");
}
