// Where this process gets its secrets from. Built-ins only, because scripts use this file before packages are
// installed.
import { closeSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROLE_URLS } from "./process-secrets.mjs";

/**
 * @typedef {object} HeldSecrets
 * @property {Readonly<Record<string, string>>} values by the name of the setting
 * @property {readonly string[]} files that hold secrets of this installation, as absolute paths
 * @property {readonly string[]} problems for the operator, by name and never with a value
 */

/** Every secret setting. Each may also be given as `NAME_FILE`, the path of a file that holds only the value. */
export const SECRET_NAMES = [
  "DATABASE_URL",
  "DATABASE_DIRECT_URL",
  ...Object.values(ROLE_URLS),
  "LEASEHOLD_SECRET",
  "AUTH_SECRET",
  "DATA_KEY",
  "SMTP_URL",
];

/** The variable with the descriptor of a pipe, on which a parent sends secrets as lines of an environment file. */
const PIPE = "SECRETS_FD";
/** The variable with the path of a file of such lines. */
const FILE = "SECRETS_FILE";
/** On the pipe only: the files that the parent read, as a JSON array of paths. */
const FILES = "SECRET_FILES";

// On globalThis, because the pages are a separate bundle with its own copy of this module.
const HELD = Symbol.for("leasehold.secrets");

/**
 * Returns the secrets of this process. The first call reads them from the pipe, the environment and files, and removes
 * them from `process.env`, so that no child inherits one.
 * @returns {HeldSecrets}
 */
export function heldSecrets() {
  const known = Reflect.get(globalThis, HELD);
  if (known) return known;
  const found = gatherSecrets(process.env);
  for (const name of [PIPE, FILE, ...SECRET_NAMES.flatMap((secret) => [secret, `${secret}_FILE`])])
    delete process.env[name];
  return holdSecrets(found);
}

/**
 * Replaces the secrets of this process.
 * @param {HeldSecrets} held
 * @returns {HeldSecrets}
 */
export function holdSecrets(held) {
  Object.defineProperty(globalThis, HELD, { value: held, configurable: true, enumerable: false });
  return held;
}

/**
 * Reads secrets from an environment, and from the pipe and files that it names. A value in the environment takes
 * precedence over SECRETS_FILE; a secret in both NAME and NAME_FILE is a problem. Closes the pipe.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {HeldSecrets}
 */
export function gatherSecrets(env) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const files = [];
  const piped = env[PIPE] === undefined ? {} : readPipe(Number(env[PIPE]), problems);
  if (piped[FILES] !== undefined) files.push(...JSON.parse(piped[FILES]));
  const read = (/** @type {string} */ setting) => {
    const given = env[setting]?.trim() ?? "";
    if (given === "") {
      problems.push(`${setting} is set but empty`);
      return undefined;
    }
    const file = path.resolve(given);
    try {
      const text = readFileSync(file, "utf8");
      files.push(file);
      return text;
    } catch (error) {
      problems.push(`${setting} names a file that cannot be read (${error.code})`);
      return undefined;
    }
  };
  const common = env[FILE] === undefined ? {} : parseLines(read(FILE) ?? "");
  /** @type {Record<string, string>} */
  const values = {};
  for (const name of SECRET_NAMES) {
    const own = piped[name] ?? env[name];
    const fromFile = env[`${name}_FILE`] === undefined ? undefined : read(`${name}_FILE`);
    if (own !== undefined && fromFile !== undefined) problems.push(`${name} and ${name}_FILE are both set`);
    const value = own ?? fromFile ?? common[name];
    if (value !== undefined) values[name] = value.trim();
  }
  return { values, files, problems };
}

/**
 * Sends secrets to a child whose descriptor `fd` is a pipe and whose environment has {@link pipeVariables} for it.
 * @param {import("node:child_process").ChildProcess} child
 * @param {number} fd
 * @param {Pick<HeldSecrets, "values" | "files">} secrets
 */
export function sendSecrets(child, fd, { values, files }) {
  const pipe = /** @type {import("node:stream").Writable | undefined} */ (child.stdio[fd]);
  const lines = [...Object.entries(values), [FILES, JSON.stringify(files)]].map(
    ([name, value]) => `${name}=${value}\n`,
  );
  // A child that ends before reading the pipe is noticed by its exit.
  pipe?.on("error", () => undefined).end(lines.join(""));
}

/** @param {number} fd */
export const pipeVariables = (fd) => ({ [PIPE]: String(fd) });

/**
 * Returns this process's environment, which holds no secret, for a child that reads its secrets from a pipe.
 * @param {number} fd
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentForPipe(fd) {
  heldSecrets();
  return { ...process.env, ...pipeVariables(fd) };
}

/**
 * Returns lines that {@link parseLines}, a shell, docker compose and systemd read alike.
 * @param {Readonly<Record<string, string>>} values
 */
export function environmentLines(values) {
  return Object.entries(values)
    .map(
      ([name, value]) => `${name}=${/^[\w./:@%+=,~-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`}\n`,
    )
    .join("");
}

/**
 * @param {number} fd
 * @param {string[]} problems
 * @returns {Record<string, string>}
 */
function readPipe(fd, problems) {
  try {
    const text = readFileSync(fd, "utf8");
    closeSync(fd);
    // Values on the pipe are not quoted.
    return Object.fromEntries(text.split("\n").flatMap((line) => (line.includes("=") ? [halves(line)] : [])));
  } catch (error) {
    problems.push(`${PIPE} names a descriptor that cannot be read (${error.code})`);
    return {};
  }
}

/**
 * Parses the lines of an environment file: NAME=value, values in quotes or bare, `#` at the start of a comment.
 * @param {string} text
 * @returns {Record<string, string>}
 */
function parseLines(text) {
  const lines = text.split("\n").map((line) => line.trim().replace(/^export\s+/, ""));
  return Object.fromEntries(
    lines.flatMap((line) => {
      if (line.startsWith("#") || !line.includes("=")) return [];
      const [name, value] = halves(line);
      return [[name, value.replace(/^'(.*)'$|^"(.*)"$/, "$1$2").replaceAll("'\\''", "'")]];
    }),
  );
}

/**
 * @param {string} line
 * @returns {[string, string]}
 */
function halves(line) {
  const at = line.indexOf("=");
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}
