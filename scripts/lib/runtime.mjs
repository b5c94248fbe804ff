import { readFileSync } from "node:fs";
import path from "node:path";
import { commandLine } from "../../lib/db/embedded/index.mjs";
import { ROLE_URLS } from "../../lib/env/process-secrets.mjs";
import { Unusable } from "./fail.mjs";
import { writeWhole } from "./files.mjs";
import { homeFolder } from "./paths.mjs";
import { givenSecrets } from "./secrets.mjs";

/**
 * @typedef {object} Runtime settings shared by the processes of one installation
 * @property {string} [secret]
 * @property {number} [pg_port]
 * @property {string} [pg_password]
 * @property {string} [admin_url]
 * @property {number} [web_port]
 * @property {string} [web_url]
 * @property {string} [provider_roots]
 * @property {number} [supervisor_pid]
 */

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);
const runtimeFile = () => path.join(homeFolder(), "runtime.json");

/** @returns {Runtime} */
export function readRuntime() {
  try {
    return JSON.parse(readFileSync(runtimeFile(), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw new Unusable(`${runtimeFile()} is not readable: ${error.code ?? "it is not JSON"}`);
  }
}

/** @param {Runtime} changes */
export function updateRuntime(changes) {
  writeWhole(runtimeFile(), `${JSON.stringify({ ...readRuntime(), ...changes }, null, 2)}\n`, 0o600);
}

/**
 * Returns true if the supervisor in a runtime file is still running.
 * @param {Runtime} runtime
 */
export function supervisorAlive({ supervisor_pid: pid }) {
  return pid !== undefined && pid !== process.pid && /scripts\/start\.mjs/.test(commandLine(pid));
}

/** @param {string} url */
export function isLoopback(url) {
  return URL.canParse(url) && LOOPBACK.has(new URL(url).hostname);
}

/**
 * Returns the settings with which a manually started process reaches the database: the given secrets, or else the
 * secrets and provider roots of the `npm start` that runs in this folder.
 * @returns {{ secrets: import("./secrets.mjs").Secrets, env: Record<string, string> }}
 */
export function installationToJoin() {
  const given = givenSecrets();
  const { DATABASE_URL: url, LEASEHOLD_SECRET: own } = given.values;
  const joined = (/** @type {Record<string, string>} */ more) => ({ ...given, values: { ...given.values, ...more } });
  if (ownLoginsGiven(given.values) && url === undefined) return { secrets: given, env: {} };
  const runtime = readRuntime();
  if (url !== undefined) {
    if (own !== undefined || !runtime.secret || !isLoopback(url)) return { secrets: given, env: {} };
    return { secrets: joined({ LEASEHOLD_SECRET: runtime.secret }), env: {} };
  }
  if (!runtime.admin_url || !runtime.secret || !supervisorAlive(runtime)) {
    throw new Unusable("DATABASE_URL is not set, and no `npm start` is running in this folder to join.");
  }
  const secrets = joined({ DATABASE_URL: runtime.admin_url, LEASEHOLD_SECRET: runtime.secret });
  const roots = process.env.PROVIDER_ROOTS?.trim() || runtime.provider_roots;
  return { secrets, env: roots ? { PROVIDER_ROOTS: roots } : {} };
}

/** @param {Readonly<Record<string, string>>} given */
function ownLoginsGiven(given) {
  return Object.values(ROLE_URLS).some((name) => name in given);
}
