// The data folder of one server: creates it, and handles a pid file left by a previous server.
import { execFile, execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const ORPHAN_STOP_MS = 10_000;

/** Environment of every PostgreSQL program. Nothing is inherited, so no secret reaches the server. */
export const CLEAN_ENV = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C", LC_ALL: "C", TZ: "UTC" };
export const ADMIN_USER = "postgres";

/**
 * Creates the cluster if it does not exist. An interrupted attempt leaves only `<folder>.new`, which the next attempt
 * replaces.
 * @param {{ pgData: string, placement: import("./placement.mjs").Placement, password: string, durable: boolean }} options
 */
export async function ensureCluster({ pgData, placement, password, durable }) {
  if (existsSync(path.join(pgData, "PG_VERSION"))) return assertSameMajor(pgData, placement.major);
  const fresh = `${pgData}.new`;
  const passwordFile = `${pgData}.password`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  const { uid, gid } = placement.runAs;
  if (uid !== undefined && gid !== undefined) for (const file of [fresh, passwordFile]) chownSync(file, uid, gid);
  try {
    await initdb(placement, [
      `--pgdata=${fresh}`,
      `--username=${ADMIN_USER}`,
      `--pwfile=${passwordFile}`,
      ...(durable ? [] : ["--no-sync"]),
    ]);
    renameSync(fresh, pgData);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/**
 * @param {import("./placement.mjs").Placement} placement
 * @param {string[]} args
 */
async function initdb(placement, args) {
  const locale =
    placement.major >= 17 ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : ["--locale=C"]; // older versions know no built-in provider
  const common = ["--encoding=UTF8", ...locale, "--auth=scram-sha-256", "--no-instructions"];
  try {
    await run(path.join(placement.binDir, "initdb"), [...common, ...args], {
      ...placement.runAs,
      cwd: "/",
      env: CLEAN_ENV,
    });
  } catch (error) {
    throw new Error(`initdb failed: ${/** @type {{ stderr?: string }} */ (error).stderr?.trim() || error}`);
  }
}

/**
 * @param {string} pgData
 * @param {number} major
 */
function assertSameMajor(pgData, major) {
  const made = Number(readFileSync(path.join(pgData, "PG_VERSION"), "utf8"));
  if (made !== major) {
    throw new Error(
      `The data in ${pgData} was made by PostgreSQL ${made}, the programs found are ${major}. Set PG_BIN to version ${made}, or choose another LEASEHOLD_HOME.`,
    );
  }
}

/**
 * Prepares the data folder for a new server: stops a server that outlived its owner, and removes a pid file whose pid
 * now belongs to another process (PostgreSQL would refuse to start because of it).
 * @param {string} pgData
 */
export async function clearFormerServer(pgData) {
  const file = path.join(pgData, "postmaster.pid");
  const pid = postmasterStatus(pgData)?.pid;
  if (pid === undefined) return;
  if (commandLine(pid).includes(pgData)) await stopOrphan(pid);
  else rmSync(file, { force: true });
}

/** @param {number} pid */
async function stopOrphan(pid) {
  const deadline = Date.now() + ORPHAN_STOP_MS;
  signal(pid, "SIGINT");
  while (commandLine(pid) !== "") {
    if (Date.now() > deadline) signal(pid, "SIGQUIT");
    await sleep(50);
  }
}

/**
 * Reads the pid file: the process, its port, and whether it accepts connections. Returns null when there is no file.
 * @param {string} pgData
 * @returns {{ pid: number, port: number, ready: boolean } | null}
 */
export function postmasterStatus(pgData) {
  try {
    const lines = readFileSync(path.join(pgData, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === "ready" };
  } catch {
    return null;
  }
}

/**
 * Returns the command line of a process; empty if there is no such process or if it is a zombie.
 * @param {number} pid
 */
export function commandLine(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return "";
  try {
    if (existsSync("/proc/self/cmdline")) return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return "";
  }
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} name
 */
export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}
