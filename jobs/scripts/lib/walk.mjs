// Walks a folder without ever following a link, even one created during the walk. Each folder is held open and its
// entries are reached through that handle (/proc/self/fd on Linux), so the length of a path does not matter.
import { Buffer, isUtf8 } from "node:buffer";
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";
import { EXIT, ScriptError } from "./run-script.mjs";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const HAS_PROC = existsSync("/proc/self/fd");
const DEEPEST = 500;

/**
 * @typedef {"invalid-name" | "unreadable" | "link" | "special" | "vanished" | "too-deep"} SkipReason
 * @typedef {{ reason: SkipReason, path: string | null, isFolder: boolean }} Skipped `path` is null for a name that is not UTF-8
 * @typedef {{ fd: number, path: Buffer }} Folder
 * @typedef {object} Found
 * @property {string} path below the root, with slashes
 * @property {() => number | null} open a descriptor of the regular file, or null when it was skipped after all
 */

/**
 * Yields every regular file below `root`, in the byte order of names. Throws a ScriptError when the root is not a
 * folder or cannot be opened.
 * @param {string} root
 * @param {(skipped: Skipped) => void} onSkip
 * @returns {Generator<Found>}
 */
export function* walk(root, onSkip) {
  yield* walkFolder({ fd: openRoot(root), path: Buffer.from(root) }, { prefix: "", depth: 0 }, onSkip);
}

/** @param {string} root */
function openRoot(root) {
  try {
    return openSync(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === "EACCES" || code === "EPERM")
      throw new ScriptError(
        `the folder cannot be opened (${code}); let the worker's commands read it`,
        EXIT.permission,
      );
    if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP")
      throw new ScriptError(
        `the path is no longer a folder (${code}); correct path_prefix or the provider`,
        EXIT.notFound,
      );
    throw error;
  }
}

/**
 * @param {Folder} folder closed at the end
 * @param {{ prefix: string, depth: number }} at
 * @param {(skipped: Skipped) => void} onSkip
 * @returns {Generator<Found>}
 */
function* walkFolder(folder, { prefix, depth }, onSkip) {
  try {
    for (const name of namesIn(folder, prefix, onSkip)) {
      if (!isUtf8(name)) {
        onSkip({ reason: "invalid-name", path: null, isFolder: false });
        continue;
      }
      const path = prefix + name.toString("utf8");
      const entry = entryPath(folder, name);
      const info = attempt(() => lstatSync(entry), { path, isFolder: false }, onSkip);
      if (!info) continue;
      if (info.isDirectory()) yield* descend(entry, { path, depth }, onSkip);
      else if (info.isFile()) yield { path, open: () => openFile(entry, path, onSkip) };
      else onSkip({ reason: info.isSymbolicLink() ? "link" : "special", path, isFolder: false });
    }
  } finally {
    closeSync(folder.fd);
  }
}

/**
 * @param {Buffer} entry
 * @param {{ path: string, depth: number }} at
 * @param {(skipped: Skipped) => void} onSkip
 * @returns {Generator<Found>}
 */
function* descend(entry, { path, depth }, onSkip) {
  if (depth >= DEEPEST) return onSkip({ reason: "too-deep", path, isFolder: true });
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  const fd = attempt(() => openSync(entry, flags), { path, isFolder: true }, onSkip);
  if (fd !== null) yield* walkFolder({ fd, path: entry }, { prefix: `${path}/`, depth: depth + 1 }, onSkip);
}

/**
 * @param {Folder} folder
 * @param {string} prefix
 * @param {(skipped: Skipped) => void} onSkip
 */
function namesIn(folder, prefix, onSkip) {
  const where = HAS_PROC ? `/proc/self/fd/${folder.fd}` : folder.path;
  const at = { path: prefix.slice(0, -1), isFolder: true };
  const names = attempt(() => readdirSync(where, { encoding: "buffer" }), at, onSkip);
  return (names ?? []).sort(Buffer.compare);
}

/**
 * @param {Folder} folder
 * @param {Buffer} name
 */
function entryPath(folder, name) {
  const base = HAS_PROC ? Buffer.from(`/proc/self/fd/${folder.fd}`) : folder.path;
  return Buffer.concat([base, Buffer.from("/"), name]);
}

/**
 * Opens a file without following a link, and without waiting for the other end of a pipe that took the file's place.
 * @param {Buffer} entry
 * @param {string} path
 * @param {(skipped: Skipped) => void} onSkip
 */
function openFile(entry, path, onSkip) {
  const fd = attempt(() => openSync(entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK), { path, isFolder: false }, onSkip);
  if (fd === null || fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  onSkip({ reason: "special", path, isFolder: false });
  return null;
}

/**
 * @template T
 * @param {() => T} act
 * @param {{ path: string, isFolder: boolean }} at
 * @param {(skipped: Skipped) => void} onSkip
 * @returns {T | null}
 */
function attempt(act, at, onSkip) {
  try {
    return act();
  } catch (error) {
    onSkip({ reason: reasonOf(/** @type {NodeJS.ErrnoException} */ (error).code), ...at });
    return null;
  }
}

/**
 * @param {string | undefined} code
 * @returns {SkipReason}
 */
function reasonOf(code) {
  if (code === "ENOENT") return "vanished";
  // A folder or file that became a link, or something else, in between.
  if (code === "ELOOP" || code === "EMLINK") return "link";
  return code === "ENOTDIR" || code === "ENXIO" ? "special" : "unreadable";
}
