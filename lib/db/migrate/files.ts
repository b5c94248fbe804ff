import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { MigrationError } from "./migration-error";

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;

/** Where migrations lie when the caller names no folder: under the folder that the process was started in. */
export function defaultMigrationsFolder(): string {
  return path.resolve(process.cwd(), "drizzle/migrations");
}

/** Reads the numbered files in order. Throws when the folder is missing or a number is missing or taken twice. */
export function readMigrations(folder = defaultMigrationsFolder()): Migration[] {
  const names = listFolder(folder)
    .filter((name) => FILE_NAME.test(name))
    .sort();
  if (names.length === 0) throw new MigrationError("bad-folder", `No migration lies in ${folder}.`);
  names.forEach((name, index) => {
    if (Number(name.slice(0, 4)) !== index + 1) {
      throw new MigrationError(
        "bad-folder",
        `Migrations are numbered without gaps; ${name} should have number ${index + 1}.`,
      );
    }
  });
  return names.map((name) => readMigration(folder, name));
}

function readMigration(folder: string, fileName: string): Migration {
  // A checkout may turn line ends around; that is no change.
  const sql = readFileSync(path.join(folder, fileName), "utf8").replaceAll("\r\n", "\n");
  return { name: fileName.replace(/\.sql$/, ""), sql, sha256: createHash("sha256").update(sql).digest("hex") };
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throw new MigrationError("bad-folder", `The migrations folder ${folder} cannot be read.`, error);
  }
}
