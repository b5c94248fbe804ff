// One test run: a scratch folder for all temporary files, an environment without the machine's settings, and a tally.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, killChildren } from "../child.mjs";
import { inRoot } from "../paths.mjs";
import { say } from "../progress.mjs";
import { processesWith } from "./leftovers.mjs";
import { Tally } from "./tally.mjs";

/** A stage that takes longer is stopped. Beside four busy loops a stage takes about three times as long as alone. */
const STAGE_LIMIT_MS = 60 * 60_000;
const DRAIN_MS = 5000;

/** A developer's own settings must not reach the tests, nor the tests a developer's database. */
const OWN_SETTINGS =
  /^(DATABASE_|LEASEHOLD_|AUTH_|NEXTAUTH_|WORKER_|PG(?!_BIN$)|PORT$|HOST$|HEALTH_PORT$|DATA_KEY$|PROVIDER_ROOTS$|LOG_|COMMANDS_|COMMAND_FOLDERS$|SECRETS_FILE$|TRUSTED_PROXIES$|ALLOWED_HOSTS$|MAX_CONNECTIONS$|MAX_TIMEOUT_SECONDS$|SHUTDOWN_GRACE_SECONDS$|NODE_ENV$)/;

/** The fallback folder of data when PostgreSQL's user cannot reach the clone; the tests must not use it. */
const ELSEWHERE = "/var/lib/leasehold";

export const tally = new Tally();
const elsewhereBefore = new Set(namesIn(ELSEWHERE));
const scratch = mkdtempSync(path.join(tmpdir(), "leasehold-tests-"));
chmodSync(scratch, 0o755); // under root, PostgreSQL runs as another user
/** @type {NodeJS.ProcessEnv} */
export const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN_SETTINGS.test(name))),
  TMPDIR: scratch,
  // Otherwise the browser and the linter would write to the home folder.
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

/**
 * @param {string} name
 * @param {string[]} args
 */
export async function check(name, args) {
  const began = Date.now();
  const { code, output } = await limited(name, args);
  say(`${code === 0 ? "ok  " : "FAIL"}  ${name} (${seconds(began)})`);
  if (code !== 0) say(output.slice(-20_000));
  tally.check(name, code === 0);
  return code === 0;
}

/**
 * Runs the tests of some of vitest's projects. A run beside another one prints nothing until it has finished, so that
 * both outputs stay readable.
 * @param {string} name
 * @param {string[]} projects
 * @param {string[]} filters
 * @param {{ limitMs?: number, beside?: boolean }} [options]
 */
export async function vitest(name, projects, filters, { limitMs, beside = false } = {}) {
  const began = Date.now();
  const report = path.join(scratch, `${projects.join("-")}.json`);
  say(beside ? `\n${name}: started, shown when they end` : `\n${name}`);
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
  const { code, output } = await limited(name, args, {
    limitMs,
    onText: beside ? undefined : (text) => process.stdout.write(text),
  });
  if (beside) say(`\n${name}\n${output}`);
  tally.addReport(name, report, code);
  say(`${name}: ${seconds(began)}`);
}

/**
 * @param {string} name
 * @param {string[]} args
 * @param {{ limitMs?: number | undefined, onText?: ((text: string) => void) | undefined }} [options]
 */
async function limited(name, args, { limitMs = STAGE_LIMIT_MS, onText } = {}) {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    say(`${name}: still running after ${limitMs / 60_000} minutes: ended`);
    limit.abort();
  }, limitMs);
  try {
    return await capture(args, { env, signal: limit.signal, ...(onText && { onText }) });
  } finally {
    clearTimeout(timer);
  }
}

export async function nothingLeft() {
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

export function close() {
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
