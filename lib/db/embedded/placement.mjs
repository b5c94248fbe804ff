// Chooses the operating system user that runs PostgreSQL, and a folder for its files that this user can reach.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { majorVersion } from "./binaries.mjs";

const FALLBACK_ROOT = "/var/lib/leasehold";
const ROOT_STAND_INS = ["postgres", "nobody"];

/**
 * @typedef {object} RunAs
 * @property {number} [uid]
 * @property {number} [gid]
 */
/**
 * @typedef {object} Placement
 * @property {string} dir folder for the cluster and for files that other local users must reach
 * @property {string} binDir
 * @property {number} major
 * @property {RunAs} runAs empty unless this process runs as root
 */

/**
 * Chooses where the data of `home` is stored. Everything stays in `home`, except under root when the stand-in user
 * cannot reach it (a clone in /root). Then the data and a copy of the programs go to /var/lib/leasehold/<hash of home>.
 * An existing cluster never moves, even if the permissions of `home` change later.
 * @throws if the cluster is in `home` and the stand-in user can no longer enter it
 * @param {{ home: string, binaries: import("./binaries.mjs").Binaries }} options
 * @returns {Placement}
 */
export function place({ home, binaries }) {
  makeFolder(home);
  const runAs = standIn();
  const { dir, moved } = reachableDir(home, runAs);
  const direct = moved && binaries.root ? null : versionOrNull(binaries.binDir, runAs);
  if (direct) return { dir, binDir: binaries.binDir, major: direct, runAs };
  if (!binaries.root || runAs.uid === undefined) {
    // Reachability is not the cause, so run the programs again to get the real error.
    return { dir, binDir: binaries.binDir, major: majorVersion(binaries.binDir, runAs), runAs };
  }
  const binDir = path.join(copyPrograms(binaries.root, dir), "bin");
  return { dir, binDir, major: majorVersion(binDir, runAs), runAs };
}

/**
 * Returns the folder that `place` would choose, without looking for the programs. For callers that only write files.
 * @param {string} home
 */
export function dataDir(home) {
  makeFolder(home);
  return reachableDir(home, standIn()).dir;
}

/** @param {string} dir */
export function makeFolder(dir) {
  if (existsSync(dir)) return;
  mkdirSync(path.dirname(dir), { recursive: true });
  mkdirSync(dir, { recursive: true });
  chmodSync(dir, 0o755);
}

/** @returns {RunAs} */
export function standIn() {
  if (process.getuid?.() !== 0) return {};
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ROOT_STAND_INS) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(":");
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error(
    "PostgreSQL refuses to run as root, and this machine has neither the user `postgres` nor the user `nobody`. Start as an ordinary user, or set DATABASE_URL.",
  );
}

/**
 * @param {string} home
 * @param {RunAs} runAs
 */
function reachableDir(home, runAs) {
  if (runAs.uid === undefined) return { dir: home, moved: false };
  const away = fallbackDir(home);
  // Permissions decide only once, because another folder later would be an empty installation.
  const [isHere, isAway] = [holdsCluster(home), holdsCluster(away)];
  const mayStay = isHere || !isAway;
  if (mayStay && (canEnter(home, runAs) || letThrough(home, runAs))) return { dir: home, moved: false };
  if (isHere && !isAway) {
    throw new Error(
      `The data of PostgreSQL lies in ${home}, and the user who runs it cannot enter that folder. Give that folder and ` +
        "each one above it back the permission to enter (chmod o+x).",
    );
  }
  makeFolder(FALLBACK_ROOT);
  makeFolder(away);
  return { dir: away, moved: true };
}

/** @param {string} dir */
const holdsCluster = (dir) => existsSync(path.join(dir, "pg", "PG_VERSION"));

/**
 * Lets other users pass through the folder (not list it), if that is enough to reach it.
 * @param {string} home
 * @param {RunAs} runAs
 */
function letThrough(home, runAs) {
  const { mode } = statSync(home);
  chmodSync(home, mode | 0o011);
  if (canEnter(home, runAs)) return true;
  chmodSync(home, mode);
  return false;
}

/** @param {string} home */
function fallbackDir(home) {
  return path.join(FALLBACK_ROOT, createHash("sha256").update(path.resolve(home)).digest("hex").slice(0, 12));
}

/**
 * @param {string} dir
 * @param {RunAs} runAs
 */
function canEnter(dir, runAs) {
  try {
    execFileSync("/bin/sh", ["-c", 'test -x "$1"', "sh", dir], {
      ...runAs,
      cwd: "/",
      env: {},
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} binDir
 * @param {RunAs} runAs
 */
function versionOrNull(binDir, runAs) {
  try {
    return majorVersion(binDir, runAs);
  } catch {
    return null;
  }
}

/**
 * Copies the packaged programs once per package version. A partial copy is never used.
 * @param {string} root
 * @param {string} dir
 */
function copyPrograms(root, dir) {
  makeFolder(dir);
  const version = JSON.parse(readFileSync(path.join(root, "..", "package.json"), "utf8")).version;
  const target = path.join(dir, `postgres-${version}`);
  if (existsSync(target)) return target;
  const half = `${target}.${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  cpSync(root, half, { recursive: true, verbatimSymlinks: true });
  // With a strict umask at install time, only root could read the copied files.
  execFileSync("chmod", ["-R", "a+rX", half]);
  try {
    renameSync(half, target);
  } catch (error) {
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
