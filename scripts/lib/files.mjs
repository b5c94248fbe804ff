import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inRoot, ROOT } from "./paths.mjs";

/**
 * Writes a file atomically; readers never see a partial file.
 * @param {string} file
 * @param {string | Uint8Array} content
 * @param {number} [mode]
 */
export function writeWhole(file, content, mode = 0o644) {
  mkdirSync(path.dirname(file), { recursive: true });
  const half = `${file}.${process.pid}.tmp`;
  writeFileSync(half, content, { mode });
  renameSync(half, file);
}

/** @param {string} file */
export function readText(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}

/**
 * Returns the hash of the named files and folders of this installation, without tests.
 * @param {string[]} names
 * @param {string[]} [extra] further texts that the result depends on
 */
export function hashSources(names, extra = []) {
  const hash = createHash("sha256");
  for (const text of [process.version, ...extra]) hash.update(`${text}\0`);
  for (const name of names) {
    for (const file of sourceFiles(inRoot(name)))
      hash
        .update(`${path.relative(ROOT, file)}\0`)
        .update(readFileSync(file))
        .update("\0");
  }
  return hash.digest("hex");
}

/**
 * @param {string} entry
 * @returns {string[]}
 */
function sourceFiles(entry) {
  const stat = lstatSync(entry, { throwIfNoEntry: false });
  if (!stat) return [];
  if (stat.isFile()) return [entry];
  if (!stat.isDirectory()) return [];
  return readdirSync(entry)
    .sort()
    .filter((name) => !/\.test\.tsx?$/.test(name))
    .flatMap((name) => sourceFiles(path.join(entry, name)));
}
