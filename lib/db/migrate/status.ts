import { DatabaseError } from "../errors";
import { statement } from "../statement";
import type { Runner } from "../types";
import { readMigrations } from "./files";

/** behind: migrations are missing; newer: the database knows some that this build does not. */
export type SchemaStatus = "behind" | "current" | "newer";

const appliedNames = statement("applied_migrations", "select name from app.schema_migrations", { repeatable: true });

let ofThisBuild: readonly string[] | undefined;

/** Compares the database with the migration files of this build. Throws DatabaseError when the database is not there. */
export async function schemaStatus(db: Runner): Promise<SchemaStatus> {
  // Read once, because the files of a later version may replace these while the process runs.
  ofThisBuild ??= readMigrations().map(({ name }) => name);
  const expected = ofThisBuild;
  const applied = await readApplied(db);
  if (applied.some((name) => !expected.includes(name))) return "newer";
  return expected.every((name) => applied.includes(name)) ? "current" : "behind";
}

// No schema, no ledger, no right to it yet: all of them mean that nobody has migrated.
const NOT_MIGRATED = new Set(["42P01", "3F000", "42501"]);

async function readApplied(db: Runner): Promise<string[]> {
  try {
    return (await db.run<{ name: string }>(appliedNames)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof DatabaseError && NOT_MIGRATED.has(error.sqlState ?? "")) return [];
    throw error;
  }
}
