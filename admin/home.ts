import { type Database, isRestoredCopy, statement } from "@/lib/db";
import { actAsOwnerSql } from "./data-key";

const moveSql = statement(
  "admin_move_home",
  "update app.installation set home = case when $1 then app.current_home() else 'paused' end",
);

/**
 * Marks the database as at home or as a restored copy: `resume` lets a restored copy work, `pause` stops it like a
 * restored one. Processes that already run are not stopped.
 * @param admin a login that may act as the owner
 */
export function setHome(admin: Database, wish: "resume" | "pause"): Promise<void> {
  return admin.transaction(async (tx) => {
    await tx.run(actAsOwnerSql);
    await tx.run(moveSql, [wish === "resume"]);
  });
}

/** True while nothing runs because the database is a restored copy. */
export function isInstallationPaused(admin: Database): Promise<boolean> {
  return admin.transaction(async (tx) => {
    await tx.run(actAsOwnerSql);
    return isRestoredCopy(tx);
  });
}
