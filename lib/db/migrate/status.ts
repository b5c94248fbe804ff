import { DatabaseError } from "../errors";
import { statement } from "../statement";
import type { Runner } from "../types";
import { readSchemaFiles, type SchemaFiles } from "./files";
import { type Applied, isBeforeBaseline, newerFunctions } from "./ledger";

/**
 * behind: the database lacks files of this build. newer: the database has files that this build does not know.
 * before-baseline: a development version created the database.
 */
export type SchemaStatus = "behind" | "current" | "newer" | "before-baseline";

interface LedgerRow extends Applied {
  readonly is_function: boolean;
}

const appliedFiles = statement(
  "applied_files",
  `select false as is_function, name, sha256, 0 as number from app.schema_migrations
   union all
   select true, name, sha256, number from app.schema_functions
   order by number`,
  { repeatable: true },
);
const appliedBeforeBaseline = statement("applied_migrations", "select name from app.schema_migrations", {
  repeatable: true,
});

let ofThisBuild: SchemaFiles | undefined;

/** Compares the database with the files of this build. @throws DatabaseError when the database does not answer */
export async function schemaStatus(db: Runner): Promise<SchemaStatus> {
  // Read once, because a later version may replace the files while the process runs.
  ofThisBuild ??= readSchemaFiles();
  const { migrations, functions } = ofThisBuild;
  const rows = await orIfMissing(() => db.run<LedgerRow>(appliedFiles), null);
  if (rows === null) return await statusWithoutFunctions(db);
  const names = new Set(rows.filter((row) => !row.is_function).map(({ name }) => name));
  const applied = rows.filter((row) => row.is_function);
  const known = new Set(migrations.map(({ name }) => name));
  if ([...names].some((name) => !known.has(name)) || newerFunctions(functions, applied) !== undefined) return "newer";
  const inForce = new Map(applied.map(({ name, sha256 }) => [name, sha256]));
  const isCurrent =
    migrations.every(({ name }) => names.has(name)) &&
    functions.every(({ name, sha256 }) => inForce.get(name) === sha256);
  return isCurrent ? "current" : "behind";
}

async function statusWithoutFunctions(db: Runner): Promise<SchemaStatus> {
  const rows = await orIfMissing(() => db.run<{ name: string }>(appliedBeforeBaseline), []);
  return isBeforeBaseline(rows) ? "before-baseline" : "behind";
}

// No schema or no ledger, or no privilege to read it yet.
const MISSING = new Set(["42P01", "3F000", "42501"]);

async function orIfMissing<T, U>(read: () => Promise<T>, missing: U): Promise<T | U> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof DatabaseError && MISSING.has(error.sqlState ?? "")) return missing;
    throw error;
  }
}
