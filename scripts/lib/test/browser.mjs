import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { Unusable } from "../fail.mjs";
import { inRoot } from "../paths.mjs";
import { runStep } from "../progress.mjs";

const run = promisify(execFile);
const PATIENCE_MS = 240_000;
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/**
 * Returns the path of a Chromium: CHROMIUM_PATH, Playwright's own, an installed one, or one installed by this call.
 * @throws with advice when none is available
 * @returns {Promise<string>}
 */
export async function findBrowser() {
  const given = process.env.CHROMIUM_PATH?.trim();
  if (given) {
    if (existsSync(given)) return given;
    throw new Unusable(`CHROMIUM_PATH names no file: ${given}`);
  }
  const found = await present();
  if (found) return found;
  for (const install of [installByPlaywright, installByApt]) {
    await install().catch(() => {});
    const now = await present();
    if (now) return now;
  }
  throw new Unusable(
    "No Chromium was found and none could be installed. Install one (`apt-get install chromium`, or `npx playwright install chromium`), or set CHROMIUM_PATH.",
  );
}

async function present() {
  const { chromium } = await import("playwright");
  return [chromium.executablePath(), ...INSTALLED].find((file) => file && existsSync(file));
}

function installByPlaywright() {
  return runStep("installing a browser for the tests (Playwright)", () =>
    run(process.execPath, [inRoot("node_modules/playwright/cli.js"), "install", "chromium"], { timeout: PATIENCE_MS }),
  );
}

async function installByApt() {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) return;
  const options = { timeout: PATIENCE_MS, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  await runStep("installing a browser for the tests (apt-get)", async () => {
    await run("apt-get", ["update", "-qq"], options);
    await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], options);
  });
}
