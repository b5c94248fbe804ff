import type { Migration } from "./files";
import { MigrationError } from "./migration-error";

export interface Applied {
  readonly name: string;
  readonly sha256: string;
}

/**
 * What is left to apply. Throws when the ledger tells of another history than the files do: a changed file, a
 * database newer than this build, a gap.
 */
export function pendingMigrations(files: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(files.map((file) => [file.name, file]));
  const stranger = applied.find(({ name }) => !known.has(name));
  if (stranger) {
    throw new MigrationError(
      "newer",
      `The database has ${stranger.name}, which this build does not know. It was migrated by a newer version: run that version, or restore a backup made before it.`,
    );
  }
  const changed = applied.find(({ name, sha256 }) => known.get(name)?.sha256 !== sha256);
  if (changed) {
    throw new MigrationError(
      "changed",
      `${changed.name}.sql is not the file that was applied to this database. Put the original back and make a new migration for the change.`,
    );
  }
  const done = new Set(applied.map(({ name }) => name));
  const pending = files.filter(({ name }) => !done.has(name));
  const late = pending.find(({ name }) => applied.some((other) => other.name > name));
  if (late) {
    throw new MigrationError(
      "out-of-order",
      `${late.name} is missing in the database although later migrations are there.`,
    );
  }
  return pending;
}

const ALREADY_THERE = new Set(["42P06", "42P07", "42701", "42710", "42723", "42P16"]);

/** Says what went wrong with one file, and how to repair what can be repaired by hand. */
export function applyFailure(migration: Migration, error: unknown): MigrationError {
  const { code, message } = error as { code?: string; message?: string };
  if (code && ALREADY_THERE.has(code)) {
    return new MigrationError(
      "unrecorded",
      `${migration.name}: ${message}. The database holds what this migration makes, but app.schema_migrations does not list it. ` +
        `If its SQL was applied by hand and whole, record it: insert into app.schema_migrations (name, sha256) values ('${migration.name}', '${migration.sha256}'); ` +
        "else drop what is there and migrate again. Nothing was changed.",
      error,
    );
  }
  return new MigrationError(
    "failed",
    `${migration.name} failed and was rolled back: ${message ?? String(error)}`,
    error,
  );
}
