// Runs one PostgreSQL server for the lifetime of this process, in a session of its own.
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findBinaries } from "./binaries.mjs";
import { ADMIN_USER, CLEAN_ENV, clearFormerServer, ensureCluster, postmasterStatus, signal } from "./cluster.mjs";
import { place } from "./placement.mjs";

const START_TIMEOUT_MS = 60_000;
const PORT_TRIES = 8;
const LOG_LIMIT_BYTES = 10_000_000;
const PORT_TAKEN = /Address already in use|could not create any TCP\/IP sockets/;
const NO_STATEMENTS = /could not access file "pg_stat_statements"/;

// Reads our end of a pipe. When the pipe closes, because we asked for a stop or because we were killed, PostgreSQL gets
// a fast shutdown. The server has its own session, because signals to the terminal's process group must not reach it
// before the workers are done.
const WATCHDOG = `exec 3<&0 </dev/null
"$@" & p=$!
(cat <&3 >/dev/null; kill -INT $p 2>/dev/null) & exec 3<&-
trap : INT TERM HUP
wait $p; s=$?
while kill -0 $p 2>/dev/null; do wait $p; s=$?; done
exit $s`;

/**
 * @typedef {object} EmbeddedServer
 * @property {number} port
 * @property {number} pid of the postmaster
 * @property {string} dir folder of the data, reachable by other local users
 * @property {number} major
 * @property {(database?: string) => string} adminUrl
 * @property {Promise<number | null>} exited settles when the server has exited, for any reason
 * @property {() => Promise<void>} stop fast shutdown; resolves when the server has exited
 */
/**
 * @typedef {object} EmbeddedOptions
 * @property {string} home
 * @property {string} password of the administrator, fixed when the cluster is created
 * @property {number} [port] preferred port; another one is used if it is taken
 * @property {boolean} [durable] false trades crash safety for speed: throw-away data only
 * @property {string | undefined} [pgBin]
 * @property {Record<string, string>} [settings]
 */

/**
 * Starts the server of `home`, creating its cluster first if needed. Rejects with the end of the server log if the
 * server does not start.
 * @param {EmbeddedOptions} options
 * @returns {Promise<EmbeddedServer>}
 */
export async function startEmbedded(options) {
  const { home, password, durable = true } = options;
  const placement = place({ home: path.resolve(home), binaries: findBinaries({ pgBin: options.pgBin }) });
  const pgData = path.join(placement.dir, "pg");
  await clearFormerServer(pgData);
  await ensureCluster({ pgData, placement, password, durable });
  let settings = { ...baseSettings(durable), ...options.settings };
  let port = options.port;
  for (let tries = 1; ; tries++) {
    port ??= await freePort();
    const launched = launch({ placement, pgData, settings: { ...settings, port: String(port) } });
    const failure = await launched.ready;
    if (failure === null) return describe({ launched, placement, pgData, port, password });
    if (tries === PORT_TRIES) throw new Error(`PostgreSQL did not start: ${failure}`);
    if (PORT_TAKEN.test(failure)) port = undefined;
    else if (NO_STATEMENTS.test(failure)) settings = { ...settings, shared_preload_libraries: "" };
    else throw new Error(`PostgreSQL did not start: ${failure}`);
  }
}

/**
 * Stops any running server of `home` and deletes its cluster, with all databases in it.
 * @param {Pick<EmbeddedOptions, "home" | "pgBin">} options
 */
export async function removeCluster({ home, pgBin }) {
  const { dir } = place({ home: path.resolve(home), binaries: findBinaries({ pgBin }) });
  const pgData = path.join(dir, "pg");
  await clearFormerServer(pgData);
  rmSync(pgData, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * @param {boolean} durable
 * @returns {Record<string, string>}
 */
function baseSettings(durable) {
  return {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    // A client that never sends its password holds a connection slot for this long.
    authentication_timeout: "5s",
    shared_preload_libraries: "pg_stat_statements",
    timezone: "UTC",
    log_timezone: "UTC",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
}

/**
 * @param {{ launched: ReturnType<typeof launch>, placement: import("./placement.mjs").Placement, pgData: string, port: number, password: string }} parts
 * @returns {EmbeddedServer}
 */
function describe({ launched, placement, pgData, port, password }) {
  return {
    port,
    pid: postmasterStatus(pgData)?.pid ?? 0,
    dir: placement.dir,
    major: placement.major,
    adminUrl: (database = "postgres") =>
      `postgresql://${ADMIN_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    exited: launched.exited,
    stop: launched.stop,
  };
}

/**
 * @param {{ placement: import("./placement.mjs").Placement, pgData: string, settings: Record<string, string> }} options
 */
function launch({ placement, pgData, settings }) {
  const logFile = path.join(placement.dir, "postgres.log");
  const log = openLog(logFile);
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(
    "/bin/sh",
    ["-c", WATCHDOG, "leasehold-postgres", path.join(placement.binDir, "postgres"), "-D", pgData, ...args],
    {
      ...placement.runAs,
      cwd: "/",
      env: CLEAN_ENV,
      detached: true,
      stdio: ["pipe", log.fd, log.fd],
    },
  );
  closeSync(log.fd);
  child.stdin?.on("error", () => {}); // the server may have exited already
  /** @type {Promise<number | null>} */
  const exited = new Promise((resolve) => {
    child.on("error", () => resolve(null));
    child.on("exit", (code) => resolve(code));
  }).then((code) => {
    child.stdin?.destroy(); // ends the pipe reader, which outlives a crashed server
    return /** @type {number | null} */ (code);
  });
  const stop = async () => {
    child.stdin?.end();
    await exited;
  };
  return { exited, stop, ready: whenReady({ pgData, exited, stop, logTail: () => readFrom(logFile, log.start) }) };
}

/**
 * Returns null once the server accepts connections, else the reason why it never did.
 * @param {{ pgData: string, exited: Promise<unknown>, stop: () => Promise<void>, logTail: () => string }} parts
 * @returns {Promise<string | null>}
 */
async function whenReady({ pgData, exited, stop, logTail }) {
  let gone = false;
  exited.then(() => {
    gone = true;
  });
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (gone) return logTail();
    if (postmasterStatus(pgData)?.ready) return null;
    await sleep(10);
  }
  await stop();
  return `not ready after ${START_TIMEOUT_MS / 1000} s. ${logTail()}`;
}

/** @param {string} file */
function openLog(file) {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_LIMIT_BYTES) rmSync(file);
  return { fd: openSync(file, "a", 0o600), start: size > LOG_LIMIT_BYTES ? 0 : size };
}

/**
 * @param {string} file
 * @param {number} start
 */
function readFrom(file, start) {
  return readFileSync(file).subarray(start).toString("utf8").trim().slice(-2000);
}

/** @returns {Promise<number>} a port of 127.0.0.1 that was free when probed */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {net.AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Kills a server at once, as a crash would. For recovery tests.
 * @param {EmbeddedServer} server
 */
export async function crashServer(server) {
  signal(server.pid, "SIGKILL");
  await server.exited;
}
