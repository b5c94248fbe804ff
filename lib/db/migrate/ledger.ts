import type { SqlFile } from "./files";
import { MigrationError } from "./migration-error";

/** A row of a ledger. */
export interface Applied {
  readonly name: string;
  readonly sha256: string;
}

/** The tables that record what was applied. Every process reads them to check that it knows the schema. */
export const LEDGERS = `
  create table if not exists app.schema_migrations (
    name text primary key,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz not null default clock_timestamp()
  );
  -- Every text of a file of functions that was ever applied; the one with the highest number is in force.
  create table if not exists app.schema_functions (
    name text not null,
    sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
    number bigint generated always as identity,
    applied_at timestamptz not null default clock_timestamp(),
    primary key (name, sha256)
  );
  grant select on app.schema_migrations, app.schema_functions
    to leasehold_web, leasehold_worker, leasehold_scheduler, leasehold_platform, leasehold_auth`;

/** The first migration of development versions, whose databases have a different history. */
const FIRST_BEFORE_BASELINE = "0001_schema_and_clock";

export const BEFORE_BASELINE_ADVICE =
  "The database was made by a development version, which this version cannot bring up to date. Name an empty database, or make a new demo with `npm start -- --new-demo`, which deletes the data of the old one.";

/** Returns true if the database was created by a version older than this version's first migration. */
export const isBeforeBaseline = (applied: readonly { readonly name: string }[]): boolean =>
  applied.some(({ name }) => name === FIRST_BEFORE_BASELINE);

/**
 * Returns the numbered files that are still to be applied.
 * @throws MigrationError when the ledger and the files disagree: a changed file, a database newer than this build, a
 * gap
 */
export function pendingMigrations(files: readonly SqlFile[], applied: readonly Applied[]): SqlFile[] {
  if (isBeforeBaseline(applied)) {
    throw new MigrationError("before-baseline", BEFORE_BASELINE_ADVICE);
  }
  const known = new Map(files.map((file) => [file.name, file]));
  const stranger = applied.find(({ name }) => !known.has(name));
  if (stranger) throw newer(stranger.name);
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
      `${late.name} is missing in the database although later migrations were applied.`,
    );
  }
  return pending;
}

/**
 * Returns the function files whose text is not in force yet. `applied`: all rows of the ledger, oldest first.
 * @throws MigrationError when a newer build has migrated the database: a file's text was in force before the current
 * one, or the ledger has a file that this build does not
 */
export function pendingFunctions(files: readonly SqlFile[], applied: readonly Applied[]): SqlFile[] {
  const found = newerFunctions(files, applied);
  if (found !== undefined) throw newer(`functions/${found}`);
  const inForce = new Map(applied.map(({ name, sha256 }) => [name, sha256]));
  return files.filter(({ name, sha256 }) => inForce.get(name) !== sha256);
}

/** Returns the name of a function file that a newer build has applied, if there is one. */
export function newerFunctions(files: readonly SqlFile[], applied: readonly Applied[]): string | undefined {
  const known = new Map(files.map(({ name, sha256 }) => [name, sha256]));
  const inForce = new Map(applied.map(({ name, sha256 }) => [name, sha256]));
  return applied.find(({ name, sha256 }) => {
    if (!known.has(name)) return true;
    return sha256 === known.get(name) && inForce.get(name) !== sha256;
  })?.name;
}

const newer = (name: string): MigrationError =>
  new MigrationError(
    "newer",
    `The database has ${name}, which this build does not know. It was migrated by a newer version: run that version, or restore a backup made before it.`,
  );

const ALREADY_THERE = new Set(["42P06", "42P07", "42701", "42710", "42723", "42P16"]);

/** Explains what failed in one file, and how to repair by hand what can be repaired. */
export function applyFailure(file: SqlFile, error: unknown): MigrationError {
  const { code, message } = error as { code?: string; message?: string };
  if (code && ALREADY_THERE.has(code)) {
    return new MigrationError(
      "unrecorded",
      `${file.name}: ${message}. The database holds what this migration makes, but app.schema_migrations does not list it. ` +
        `If its SQL was applied by hand and whole, record it: insert into app.schema_migrations (name, sha256) values ('${file.name}', '${file.sha256}'); ` +
        "else drop what is there and migrate again. Nothing was changed.",
      error,
    );
  }
  return new MigrationError("failed", `${file.name} failed and was rolled back: ${message ?? String(error)}`, error);
}
