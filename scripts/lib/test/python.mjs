import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Unusable } from "../fail.mjs";
import { runStep } from "../progress.mjs";

const run = promisify(execFile);
const PATIENCE_MS = 240_000;
const CHECK = "import sys; sys.exit(sys.version_info < (3, 9))";

/**
 * Returns a Python of 3.9 or newer: the one on the PATH, or one installed by this call.
 * @throws with advice when none is available
 * @returns {Promise<string>}
 */
export async function findPython() {
  if (await present()) return "python3";
  await installByApt().catch(() => {});
  if (await present()) return "python3";
  throw new Unusable(
    "No Python 3.9 or newer was found and none could be installed. Install one (`apt-get install python3`, or from python.org) so that `python3` is on the PATH.",
  );
}

const present = () =>
  run("python3", ["-c", CHECK]).then(
    () => true,
    () => false,
  );

async function installByApt() {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  const options = { timeout: PATIENCE_MS, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  await runStep("installing Python for the tests (apt-get)", async () => {
    await run("apt-get", ["update", "-qq"], options);
    await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "python3-minimal"], options);
  });
}
