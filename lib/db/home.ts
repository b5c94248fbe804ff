import { statement } from "./statement";
import type { Runner } from "./types";

const readHomeSql = statement(
  "read_home",
  "select home as stored, app.current_home() as current from app.installation",
  { repeatable: true },
);

const claimHomeSql = statement(
  "claim_home",
  "update app.installation set home = app.current_home() where home is null",
);

/**
 * Returns true if the database is a restored copy: the installation last worked on another server or in another
 * database. Jobs of a copy may have run, and its webhooks been sent, after the backup was made.
 */
export async function isRestoredCopy(db: Runner): Promise<boolean> {
  const [row] = await db.run<{ stored: string | null; current: string }>(readHomeSql);
  return row !== undefined && row.stored !== null && row.stored !== row.current;
}

/** Makes this server and database the home of an installation that has none yet. */
export async function claimHome(db: Runner): Promise<void> {
  await db.run(claimHomeSql);
}
