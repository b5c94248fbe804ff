// Everything there is to check, with its own set-up. `npm test -- words` runs only test files whose path has the words.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findBrowser } from "./lib/browser.mjs";
import { capture, killChildren } from "./lib/child.mjs";
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { processesWith } from "./lib/leftovers.mjs";
import { inRoot } from "./lib/paths.mjs";
import { say } from "./lib/progress.mjs";
import { Tally } from "./lib/tally.mjs";

const STAGE_LIMIT_MS = 9 * 60_000;
const DRAIN_MS = 5000;

/** A developer's own settings must not reach the tests, nor the tests a database of theirs. */
const OWN_SETTINGS =
  /^(DATABASE_|LEASEHOLD_|AUTH_|NEXTAUTH_|WORKER_|PG(?!_BIN$)|PORT$|HOST$|HEALTH_PORT$|DATA_KEY$|PROVIDER_ROOTS$|LOG_|COMMANDS_FILE$|MAX_TIMEOUT_SECONDS$|SHUTDOWN_GRACE_SECONDS$|NODE_ENV$)/;

/** Where data goes when the clone itself cannot be reached by PostgreSQL's user; the tests keep out of it. */
const ELSEWHERE = "/var/lib/leasehold";

const tally = new Tally();
const elsewhereBefore = new Set(namesIn(ELSEWHERE));
const scratch = mkdtempSync(path.join(tmpdir(), "leasehold-tests-"));
chmodSync(scratch, 0o755); // under root, PostgreSQL runs as another user
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_SETTINGS.test(name))),
  TMPDIR: scratch,
  // Where the browser and the linter would leave things in the home folder.
  XDG_CACHE_HOME: path.join(scratch, "cache"),
  XDG_CONFIG_HOME: path.join(scratch, "config"),
  NEXT_TELEMETRY_DISABLED: "1",
};

for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.on(name, () => {
    killChildren();
    cleanUp();
    process.exit(128 + constants.signals[name]);
  });
}

await runMain(async () => {
  const filters = process.argv.slice(2);
  await ensureInstalled();
  if (filters.length === 0) await staticChecks();
  await vitest("unit and database tests", ["unit", "db"], filters);
  if (!reaches("e2e", filters)) return close();
  if (await check("test build", [inRoot("scripts/build.mjs"), "--test-build"])) await endToEnd(filters);
  await nothingLeft();
  close();
});

/**
 * Whether the filters, as vitest reads them, select anything in a folder.
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
async function endToEnd(filters) {
  await vitest("API tests", ["api"], filters);
  await vitest("process tests", ["processes"], filters);
  try {
    env.CHROMIUM_PATH = await findBrowser();
  } catch (error) {
    say(error.message);
    return tally.check("a browser for the browser tests", false);
  }
  await vitest("browser tests", ["ui"], filters);
}

/**
 * @param {string} name
 * @param {string[]} args
 */
async function check(name, args) {
  const began = Date.now();
  const { code, output } = await limited(capture(args, { env }));
  say(`${code === 0 ? "ok  " : "FAIL"}  ${name} (${seconds(began)})`);
  if (code !== 0) say(output.slice(-20_000));
  tally.check(name, code === 0);
  return code === 0;
}

/**
 * @param {string} name
 * @param {string[]} projects
 * @param {string[]} filters
 */
async function vitest(name, projects, filters) {
  const began = Date.now();
  const report = path.join(scratch, `${projects.join("-")}.json`);
  say(`\n${name}`);
  const args = [
    inRoot("node_modules/vitest/vitest.mjs"),
    "run",
    "--passWithNoTests",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...projects.flatMap((project) => ["--project", project]),
    ...filters,
  ];
  const { code } = await limited(capture(args, { env, onText: (text) => process.stdout.write(text) }));
  tally.addReport(name, report, code);
  say(`${name}: ${seconds(began)}`);
}

/**
 * @template T
 * @param {Promise<T>} work
 */
async function limited(work) {
  const timer = setTimeout(() => {
    say(`still running after ${STAGE_LIMIT_MS / 60_000} minutes: ended`);
    killChildren();
  }, STAGE_LIMIT_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

async function nothingLeft() {
  for (const end = Date.now() + DRAIN_MS; processesWith(scratch).length > 0 && Date.now() < end; ) await sleep(100);
  const left = processesWith(scratch);
  for (const { pid, command } of left) {
    say(`left running: ${pid} ${command}`);
    process.kill(pid, "SIGKILL");
  }
  tally.check("no process is left", left.length === 0);
  const folders = namesIn(ELSEWHERE).filter((name) => !elsewhereBefore.has(name));
  for (const name of folders) say(`left behind: ${ELSEWHERE}/${name}`);
  tally.check("no folder is left", folders.length === 0);
}

/** @param {string} folder */
function namesIn(folder) {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function close() {
  cleanUp();
  if (tally.failures.length > 0) say(`\nFailed:\n${tally.failures.map((line) => `  ${line}`).join("\n")}`);
  if (tally.skipped > 0) say(`\n${tally.skipped} skipped`);
  say(`\n${tally.passed} passed, ${tally.failed} failed`);
  process.exitCode = tally.failed > 0 || tally.passed === 0 ? 1 : 0;
}

function cleanUp() {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}

/** @param {number} since */
function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
