import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { MigrationError } from "./migration-error";

/** A SQL file; `name` is without `.sql`. */
export interface SqlFile {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

/** All files that define the schema. */
export interface SchemaFiles {
  /** Numbered files, in order. Each is applied once. */
  readonly migrations: readonly SqlFile[];
  /** The current SQL functions. A file is applied whenever its text has changed. */
  readonly functions: readonly SqlFile[];
}

const NUMBERED = /^\d{4}_[a-z0-9_]+\.sql$/;
const FUNCTIONS = /^[a-z][a-z0-9-]*\.sql$/;

/** Returns the folder of the schema files when the caller names none: `drizzle` in the working directory. */
export function defaultSchemaFolder(): string {
  return path.resolve(process.cwd(), "drizzle");
}

/**
 * Reads `migrations/` and `functions/` in the folder.
 * @throws MigrationError when one of them is missing or empty, or a number is missing or used twice
 */
export function readSchemaFiles(folder = defaultSchemaFolder()): SchemaFiles {
  const migrations = readFiles(path.join(folder, "migrations"), NUMBERED);
  migrations.forEach(({ name }, index) => {
    if (Number(name.slice(0, 4)) !== index + 1) {
      throw new MigrationError(
        "bad-folder",
        `Migrations are numbered without gaps; ${name}.sql should have number ${index + 1}.`,
      );
    }
  });
  return { migrations, functions: readFiles(path.join(folder, "functions"), FUNCTIONS) };
}

function readFiles(folder: string, wanted: RegExp): SqlFile[] {
  const names = listFolder(folder)
    .filter((name) => wanted.test(name))
    .sort();
  if (names.length === 0) throw new MigrationError("bad-folder", `There are no SQL files in ${folder}.`);
  return names.map((name) => {
    // A checkout may convert line endings; that does not count as a change.
    const sql = readFileSync(path.join(folder, name), "utf8").replaceAll("\r\n", "\n");
    return { name: name.replace(/\.sql$/, ""), sql, sha256: createHash("sha256").update(sql).digest("hex") };
  });
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw new MigrationError("bad-folder", `The folder ${folder} cannot be read.`, error);
  }
}
