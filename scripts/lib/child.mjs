import { spawn } from "node:child_process";
import { constants } from "node:os";
import { sendSecrets } from "../../lib/env/secret-source.mjs";
import { Unusable } from "./fail.mjs";
import { ROOT } from "./paths.mjs";
import { withSecretPipe } from "./secrets.mjs";

/** Living children of this script; a signal to the script ends them. */
const alive = new Set();

/**
 * Runs a Node script to its end. Shows its output only if it fails.
 * @param {string} label
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, secrets?: import("./secrets.mjs").Secrets }} [options]
 */
export async function runQuietly(label, args, options = {}) {
  const { code, output } = await capture(args, options);
  if (code !== 0) throw new Unusable(`${label} failed (exit ${code}):\n${output.slice(-8000)}`);
  return output;
}

/**
 * Runs a Node script to its end, or until the signal aborts.
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, onText?: (text: string) => void, signal?: AbortSignal,
 *   secrets?: import("./secrets.mjs").Secrets }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function capture(args, { env = process.env, cwd = ROOT, onText, signal: until, secrets } = {}) {
  return new Promise((resolve, reject) => {
    /** @type {("ignore" | "pipe")[]} */
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(process.execPath, args, { cwd, ...(secrets ? withSecretPipe(env, stdio) : { env, stdio }) });
    if (secrets) sendSecrets(child, stdio.length, secrets);
    alive.add(child);
    until?.addEventListener("abort", () => child.kill("SIGTERM"), { once: true });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
        onText?.(text);
      });
    }
    child.on("error", reject);
    child.on("close", (code, signal) => {
      alive.delete(child);
      resolve({ code: code ?? 128 + (signal ? constants.signals[signal] : 0), output });
    });
  });
}

/** Ends all children that `capture` started. */
export function killChildren() {
  for (const child of alive) child.kill("SIGTERM");
}
