import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { defaultSchemaFolder, readSchemaFiles } from "@/lib/db/migrate/files";
import { whenDone } from "./when-done";

/** Returns the path of one more migration of this build in a folder of `schemaFolder`. */
export function nextMigration(title: string): string {
  return `migrations/${String(readSchemaFiles().migrations.length + 1).padStart(4, "0")}_${title}.sql`;
}

/**
 * Copies the schema files, adds further files by their paths, and keeps only the first `count` migrations if it is
 * given. Deleted when the calling test or test file is done.
 */
export function schemaFolder(further: Readonly<Record<string, string>> = {}, count = Number.POSITIVE_INFINITY): string {
  const folder = mkdtempSync(path.join(tmpdir(), "leasehold-schema-"));
  whenDone(() => rmSync(folder, { recursive: true }));
  for (const part of ["migrations", "functions"])
    cpSync(path.join(defaultSchemaFolder(), part), path.join(folder, part), { recursive: true });
  const migrations = readdirSync(path.join(folder, "migrations")).filter((name) => name.endsWith(".sql"));
  for (const name of migrations.sort().slice(count)) rmSync(path.join(folder, "migrations", name));
  for (const [name, text] of Object.entries(further)) writeFileSync(path.join(folder, name), text);
  return folder;
}
