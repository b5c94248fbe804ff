import { processSecrets } from "../../lib/env/process-secrets.mjs";
import { heldSecrets, pipeVariables, SECRET_NAMES } from "../../lib/env/secret-source.mjs";
import { Unusable } from "./fail.mjs";
import { inRoot } from "./paths.mjs";

/** @typedef {Pick<import("../../lib/env/secret-source.mjs").HeldSecrets, "values" | "files">} Secrets */

/**
 * Returns the secrets that were given to this script.
 * @throws Unusable with every problem, by name and without values
 * @returns {Secrets}
 */
export function givenSecrets() {
  const held = heldSecrets();
  refuse(held.problems);
  return held;
}

/**
 * Returns exactly the secrets that a process needs.
 * @param {import("../../lib/env/process-secrets.mjs").ProcessName} name
 * @param {Secrets} given
 * @returns {Secrets}
 */
export function secretsOf(name, given) {
  const { values, problems } = processSecrets(name, given.values);
  refuse(problems);
  return { values, files: given.files };
}

/**
 * Returns options of `spawn` for a child that reads secrets from a pipe, which is the last descriptor.
 * @param {NodeJS.ProcessEnv} env
 * @param {readonly ("ignore" | "inherit" | "pipe" | "ipc")[]} stdio
 * @returns {{ env: NodeJS.ProcessEnv, stdio: ("ignore" | "inherit" | "pipe" | "ipc")[] }}
 */
export function withSecretPipe(env, stdio) {
  return { env: { ...env, ...pipeVariables(stdio.length) }, stdio: [...stdio, "pipe"] };
}

/**
 * If secrets are in the environment, restarts this program in the same process with its secrets on a pipe (Node 22.15
 * or newer); otherwise prints what to do. Deleting a variable is not enough, because the environment that a process was
 * started with stays readable until it ends.
 */
export function leaveEnvironment() {
  if (!SECRET_NAMES.some((name) => name in process.env)) return;
  const shell = "/bin/sh";
  const again = [inRoot("scripts/bare.sh"), process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (process.execve) process.execve(shell, [shell, ...again], process.env);
  process.stderr.write(
    "The secrets in the environment of this process can be read by programs of the same user. Start it with " +
      "`npm run`, `sh scripts/bare.sh node …` or SECRETS_FILE (docs/operations.md, Secrets).\n",
  );
}

/** @param {readonly string[]} problems */
function refuse(problems) {
  if (problems.length === 0) return;
  throw new Unusable(`The environment is not usable:\n${problems.map((line) => `  - ${line}`).join("\n")}`);
}
