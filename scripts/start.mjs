// Everything in one command: packages, database, build, processes. `--dev` rebuilds on changes, `--new-demo` first
// deletes the demo's database. The database stops last, because the processes need it to release their jobs.
// Built-ins only until packages are installed. Start here; `lib/supervisor.mjs` runs the processes, `run.mjs` runs a
// single one.
import { constants } from "node:os";
import path from "node:path";
import { localOrigin } from "../lib/env/local-origin.mjs";
import { killChildren, runQuietly } from "./lib/child.mjs";
import { runMain, Unusable } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { homeFolder, inRoot } from "./lib/paths.mjs";
import { runStep, say } from "./lib/progress.mjs";
import { givenSecrets, leaveEnvironment, secretsOf } from "./lib/secrets.mjs";
import { StartFailure, Supervisor } from "./lib/supervisor.mjs";
import { tightenCommands } from "./lib/tighten.mjs";

const SAME_WISH_MS = 180;
const PORT_TAKEN_EXIT = 98;
const PORT_TRIES = 3;
const DEFAULT_GRACE_SECONDS = 30;

const dev = process.argv.includes("--dev");
const newDemo = process.argv.includes("--new-demo");
const testBuild = process.env.LEASEHOLD_TEST_BUILD === "1";
const began = Date.now();
const graceMs = Number(process.env.SHUTDOWN_GRACE_SECONDS?.trim() || DEFAULT_GRACE_SECONDS) * 1000;
const supervisor = new Supervisor({ graceMs, onFatal: (reason) => void stopAll(1, reason) });
/** @type {import("../lib/db/embedded/index.mjs").EmbeddedServer | null} */
let server = null;
let stopBegan = 0;

process.stdout.on("error", () => {}); // the reader of our output may disconnect first
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => onSignal(name));

await runMain(async () => {
  try {
    await start();
  } catch (error) {
    if (stopBegan) return; // the failed step was interrupted
    process.stderr.write(`${error instanceof Unusable ? error.message : error.stack}\n`);
    await stopAll(1, "The start failed.");
  }
});

async function start() {
  say("Leasehold");
  leaveEnvironment();
  givenSecrets(); // before any child exists, which would inherit them
  const { takeLock } = await import("./lib/lock.mjs");
  if (takeLock(homeFolder()) !== null) return await alreadyRunning();
  const { choosePort } = await import("./lib/port.mjs");
  await choosePort(host()); // report a taken PORT at once, not after a minute of building
  await ensureInstalled();
  tightenCommands();
  const { build, buildPages, buildProcesses, distFolder } = await import("./lib/build.mjs");
  const { prepareDatabase } = await import("./lib/database.mjs");
  const ground = await prepareDatabase({ newDemo });
  server = ground.server;
  server?.exited.then(() => onDatabaseExit());
  await buildProcesses({ testBuild });
  const env = {
    ...process.env,
    ...ground.env,
    LEASEHOLD_HOME: homeFolder(),
    LOG_FORMAT: process.env.LOG_FORMAT || "pretty",
    NEXT_TELEMETRY_DISABLED: "1",
  };
  const { secrets } = ground;
  await migrateAndSeed(path.join(distFolder({ testBuild }), "admin.mjs"), { env, secrets }, ground.demo);
  if (!dev) await buildPages({ testBuild });
  if (stopBegan) return;
  const url = await startMembers(distFolder({ testBuild }), { env, secrets });
  await report(url, ground.demo);
  if (dev)
    await watch(
      () => build({ testBuild, pages: false }),
      (member) => supervisor.restart(member),
      members(distFolder({ testBuild }), { env, secrets }),
    );
}

/** @typedef {{ env: NodeJS.ProcessEnv, secrets: import("./lib/secrets.mjs").Secrets }} Given */

/**
 * @param {string} admin
 * @param {Given} given
 * @param {boolean} demo
 */
async function migrateAndSeed(admin, given, demo) {
  await runStep("migrating the database", () =>
    runQuietly("the migration", [admin, "migrate", "--create-database"], given),
  );
  await runStep(demo ? "seeding the demo data" : "registering the definitions", () =>
    runQuietly("the seed", [admin, "seed", ...(demo ? ["--demo"] : [])], given),
  );
}

/**
 * @param {string} dist
 * @param {Given} given
 */
function members(dist, { env, secrets }) {
  const node = (name, ...more) => ["--enable-source-maps", path.join(dist, `${name}.mjs`), ...more];
  const background = { ...env, HEALTH_PORT: "0", NODE_ENV: env.NODE_ENV ?? "production" };
  return [
    { name: "worker", vital: false, env: background, secrets: secretsOf("worker", secrets), args: node("worker") },
    {
      name: "scheduler",
      vital: false,
      env: background,
      secrets: secretsOf("scheduler", secrets),
      args: node("scheduler"),
    },
  ];
}

/**
 * @param {string} dist
 * @param {Given} given
 * @returns {Promise<string>} URL of the pages
 */
async function startMembers(dist, given) {
  const [port] = await runStep("starting web, worker and scheduler", () =>
    Promise.all([startWeb(dist, given), ...members(dist, given).map((member) => supervisor.startWithRetries(member))]),
  );
  return process.env.AUTH_URL?.trim() || localOrigin(host(), port);
}

/**
 * @param {string} dist
 * @param {Given} given
 */
async function startWeb(dist, { env, secrets: all }) {
  const { choosePort } = await import("./lib/port.mjs");
  const args = ["--enable-source-maps", path.join(dist, "web.mjs"), ...(dev ? ["--dev"] : [])];
  const secrets = secretsOf("web", all);
  for (let tries = 1; ; tries++) {
    const port = await choosePort(host());
    const webEnv = { ...env, PORT: String(port), NODE_ENV: dev ? "development" : "production" };
    try {
      return (await supervisor.start({ name: "web", vital: true, env: webEnv, secrets, args })).port ?? port;
    } catch (error) {
      // Another process took the port between the check and the start.
      if (!(error instanceof StartFailure && error.how === PORT_TAKEN_EXIT) || tries === PORT_TRIES) throw error;
    }
  }
}

/**
 * @param {string} url
 * @param {boolean} demo
 */
async function report(url, demo) {
  const { updateRuntime } = await import("./lib/runtime.mjs");
  updateRuntime({ web_port: Number(new URL(url).port) || undefined, web_url: url, supervisor_pid: process.pid });
  say(`\nLeasehold is ready after ${((Date.now() - began) / 1000).toFixed(1)} s:  ${url}\n`);
  if (demo) {
    const { publishDemo } = await import("./lib/demo.mjs");
    publishDemo(url);
  } else {
    say("Create the first super admin with: npm run db:seed -- --admin you@example.com");
  }
  say("Ctrl-C stops everything.\n");
}

/**
 * @param {() => Promise<unknown>} rebuild
 * @param {(member: import("./lib/supervisor.mjs").Member) => Promise<unknown>} restart
 * @param {import("./lib/supervisor.mjs").Member[]} background
 */
async function watch(rebuild, restart, background) {
  const { watchSources } = await import("./lib/watch.mjs");
  watchSources(
    ["lib", "worker", "scheduler", "admin", "jobs"].map((name) => inRoot(name)),
    async () => {
      await rebuild();
      say("  sources changed: starting worker and scheduler again");
      await Promise.all(background.map(restart));
    },
  );
}

function host() {
  return process.env.HOST?.trim() || "127.0.0.1";
}

async function alreadyRunning() {
  const { readRuntime } = await import("./lib/runtime.mjs");
  say(`Leasehold is already running at ${readRuntime().web_url ?? "(still starting)"}`);
  process.exit(0);
}

/** @param {"SIGTERM" | "SIGINT" | "SIGHUP"} name */
function onSignal(name) {
  if (stopBegan === 0) return void stopAll(0, `\n${name}: stopping. Send the signal again to exit at once.`);
  if (Date.now() - stopBegan < SAME_WISH_MS) return;
  supervisor.force();
  process.exitCode = 128 + constants.signals[name];
}

/** The processes must end within seconds, because jobs in flight can no longer be released. */
function onDatabaseExit() {
  supervisor.databaseGone();
  if (!stopBegan) void stopAll(1, "PostgreSQL ended unexpectedly.");
}

/**
 * Stops the processes first and the database last, because they need it to release the jobs in flight.
 * @param {number} exitCode
 * @param {string} words
 */
async function stopAll(exitCode, words) {
  if (stopBegan) return;
  stopBegan = Date.now();
  say(exitCode === 0 ? words : `${words} Stopping everything.`);
  killChildren();
  await supervisor.stop();
  await server?.stop();
  // Repeats the reason, because the processes may have logged much in between.
  say(exitCode === 0 ? "Stopped." : `Stopped. ${words}`);
  process.exit(process.exitCode || exitCode);
}
