// Runs every check, with its own set-up. `npm test -- words` runs only test files whose path contains one of the words.
import { readdirSync } from "node:fs";
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { inRoot } from "./lib/paths.mjs";
import { say } from "./lib/progress.mjs";
import { findBrowser } from "./lib/test/browser.mjs";
import { check, close, env, nothingLeft, tally, vitest } from "./lib/test/test-run.mjs";

await runMain(async () => {
  const filters = process.argv.slice(2);
  await ensureInstalled();
  if (filters.length === 0) await staticChecks();
  const units = vitest("unit and database tests", ["unit", "db"], filters);
  const reachesBuilt = reaches("e2e", filters);
  const built = reachesBuilt && (await check("test build", [inRoot("scripts/build.mjs"), "--test-build"]));
  // The browser tests run one by one and take the longest, so they begin as soon as there is a build.
  const browsing = built ? pages(filters) : undefined;
  await units;
  // One run, so that no processor waits for the last file of a stage.
  if (built) await vitest("API, process and fault tests", ["api", "processes", "chaos"], filters);
  await browsing;
  if (reachesBuilt) await nothingLeft();
  close();
});

/**
 * Returns true if the filters, as vitest reads them, select anything in a folder.
 * @param {string} folder
 * @param {string[]} filters
 */
function reaches(folder, filters) {
  if (filters.length === 0) return true;
  const files = readdirSync(inRoot(folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
  return files.some((file) => file.endsWith(".test.ts") && filters.some((filter) => file.includes(filter)));
}

async function staticChecks() {
  await check("types", [inRoot("node_modules/typescript-7/bin/tsc"), "--noEmit"]);
  await check("format and lint", [inRoot("node_modules/@biomejs/biome/bin/biome"), "check", "."]);
  await check("unused code", [inRoot("node_modules/knip/bin/knip.js"), "--no-progress", "--no-config-hints"]);
}

/** @param {string[]} filters */
async function pages(filters) {
  try {
    env.CHROMIUM_PATH = await findBrowser();
  } catch (error) {
    say(error.message);
    return tally.check("a browser for the browser tests", false);
  }
  await vitest("browser tests", ["ui"], filters, { beside: true });
}
