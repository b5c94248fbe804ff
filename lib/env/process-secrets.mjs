// Which secrets each process needs, and how they derive. Built-ins only, because scripts use this file before packages
// are installed.
import { hkdfSync } from "node:crypto";
import { loginOf, roleUrl, withLogin } from "../db/migrate/role-logins.mjs";

/** @typedef {"web" | "worker" | "scheduler"} ProcessName */

const KEY_BYTES = 32;
/** Minimum number of characters of every secret of the installation. */
export const SECRET_MIN = 32;

export const ROLE_URLS = /** @type {const} */ ({
  web: "DATABASE_WEB_URL",
  worker: "DATABASE_WORKER_URL",
  scheduler: "DATABASE_SCHEDULER_URL",
  platform: "DATABASE_PLATFORM_URL",
  auth: "DATABASE_AUTH_URL",
});

/** The roles that a process logs in as. Its direct connection uses the first one. */
export const PROCESS_ROLES = /** @type {const} */ ({
  web: ["web", "auth", "platform", "worker"],
  worker: ["worker", "web"],
  scheduler: ["scheduler", "web"],
});

/** @type {Readonly<Record<ProcessName, readonly string[]>>} */
const KEYS = { web: ["AUTH_SECRET", "DATA_KEY"], worker: ["DATA_KEY"], scheduler: [] };
/** @type {Readonly<Record<ProcessName, readonly string[]>>} */
const HANDED_ON = { web: [], worker: ["SMTP_URL"], scheduler: [] };

/**
 * Returns exactly the secrets that a process needs: the URLs of its roles, its keys, and other given secrets that it
 * reads. A secret given under its own name takes precedence over one derived from DATABASE_URL and LEASEHOLD_SECRET. A
 * secret that is neither given nor derived is omitted; the process reports it at start.
 * @param {ProcessName} name
 * @param {Readonly<Record<string, string | undefined>>} given
 * @returns {{ values: Record<string, string>, problems: string[] }} problems never hold a value
 */
export function processSecrets(name, given) {
  const problems = wrongSources(given);
  const { DATABASE_URL: adminUrl, LEASEHOLD_SECRET: secret, DATABASE_DIRECT_URL: directUrl } = given;
  /** @type {Record<string, string>} */
  const values = {};
  const add = (/** @type {string} */ setting, /** @type {string | undefined} */ value) => {
    if (value !== undefined) values[setting] = value;
  };
  const isSound = problems.length === 0;
  for (const role of PROCESS_ROLES[name]) {
    const derived = isSound && adminUrl && secret ? roleUrl(adminUrl, secret, role) : undefined;
    add(ROLE_URLS[role], given[ROLE_URLS[role]] ?? derived);
  }
  const [first] = PROCESS_ROLES[name];
  if (directUrl !== undefined) add("DATABASE_DIRECT_URL", withLoginOf(values[ROLE_URLS[first]], directUrl));
  for (const key of KEYS[name]) add(key, given[key] ?? (isSound && secret ? derivedKey(key, secret) : undefined));
  for (const other of HANDED_ON[name]) add(other, given[other]);
  return { values, problems };
}

/**
 * Returns the server of `directUrl` with the login of another URL; without a login when that URL is unknown.
 * @param {string | undefined} loginUrl
 * @param {string} directUrl
 */
export function withLoginOf(loginUrl, directUrl) {
  if (!URL.canParse(directUrl)) return directUrl;
  const isKnown = loginUrl !== undefined && isPostgresUrl(loginUrl);
  return withLogin(directUrl, isKnown ? loginOf(loginUrl) : { user: "", password: "" });
}

/**
 * Returns the key of this name, derived from the secret of the installation.
 * @param {string} name
 * @param {string} secret
 */
export function derivedKey(name, secret) {
  return Buffer.from(hkdfSync("sha256", secret, "", `leasehold/${name}`, KEY_BYTES)).toString("base64url");
}

/** @param {string} text */
export function isPostgresUrl(text) {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return /^postgres(ql)?:$/.test(url.protocol) && url.pathname.length > 1 && decodes(url.password);
}

export const POSTGRES_URL_RULE = "must be a postgres:// URL (special characters of the password percent-encoded)";

/** @param {Readonly<Record<string, string | undefined>>} given */
function wrongSources({ DATABASE_URL: adminUrl, LEASEHOLD_SECRET: secret }) {
  const problems = [];
  for (const [name, value] of Object.entries({ DATABASE_URL: adminUrl, LEASEHOLD_SECRET: secret }))
    if (value === "") problems.push(`${name} is set but empty`);
  if (adminUrl && !isPostgresUrl(adminUrl)) problems.push(`DATABASE_URL ${POSTGRES_URL_RULE}`);
  if (secret && secret.length < SECRET_MIN)
    problems.push(`LEASEHOLD_SECRET must have at least ${SECRET_MIN} characters`);
  return problems;
}

/** @param {string} text */
function decodes(text) {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
