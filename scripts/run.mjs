// Runs one process of the installation: web, worker, scheduler, migrate or seed; or prints the secrets of one. The
// program runs inside this process, so that a signal to npm's child is a signal to the program.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { environmentLines, holdSecrets, sendSecrets } from "../lib/env/secret-source.mjs";
import { runMain, Unusable } from "./lib/fail.mjs";
import { heapFlags } from "./lib/heap.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { ROOT } from "./lib/paths.mjs";
import { givenSecrets, leaveEnvironment, secretsOf, withSecretPipe } from "./lib/secrets.mjs";
import { tightenCommands } from "./lib/tighten.mjs";

const PROCESSES = ["web", "worker", "scheduler"];
const PROGRAMS = { web: "web", worker: "worker", scheduler: "scheduler", migrate: "admin", seed: "admin" };

await runMain(async () => {
  const [verb, ...args] = process.argv.slice(2);
  if (verb === "secrets") return await printSecrets(args[0]);
  const program = PROGRAMS[verb];
  if (!program) throw new Unusable(`usage: run.mjs ${[...Object.keys(PROGRAMS), "secrets"].join("|")}`);
  leaveEnvironment();
  const flags = heapFlags();
  if (flags.length > 0) return runInside(flags);

  givenSecrets(); // before any child exists, which would inherit them
  await ensureInstalled();
  if (program === "worker") tightenCommands();
  const { installationToJoin } = await import("./lib/runtime.mjs");
  const { build, distFolder } = await import("./lib/build.mjs");
  const testBuild = process.env.LEASEHOLD_TEST_BUILD === "1";
  const { secrets, env } = installationToJoin();
  holdSecrets({ ...(PROCESSES.includes(verb) ? secretsOf(verb, secrets) : secrets), problems: [] });
  Object.assign(process.env, env);
  process.env.NEXT_TELEMETRY_DISABLED ??= "1";
  process.env.LOG_FORMAT ??= process.stdout.isTTY ? "pretty" : "json";
  if (program === "web") process.env.NODE_ENV ??= "production";
  await build({ testBuild, pages: program === "web" && !args.includes("--dev") });
  process.chdir(ROOT);
  process.setSourceMapsEnabled(true);
  const file = path.join(distFolder({ testBuild }), `${program}.mjs`);
  process.argv = [process.argv[0], file, ...(program === "admin" ? [verb] : []), ...args];
  await import(pathToFileURL(file).href);
});

/**
 * Prints the secrets of one process, as lines that a shell and SECRETS_FILE accept.
 * @param {string | undefined} name
 */
async function printSecrets(name) {
  if (!PROCESSES.includes(name)) throw new Unusable(`usage: npm run secrets -- ${PROCESSES.join("|")}`);
  const { installationToJoin } = await import("./lib/runtime.mjs");
  process.stdout.write(environmentLines(secretsOf(name, installationToJoin().secrets).values));
}

/** @param {string[]} flags that only a new Node process can take */
async function runInside(flags) {
  const self = fileURLToPath(import.meta.url);
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const args = [...flags, self, ...process.argv.slice(2)];
  const secrets = givenSecrets();
  const child = spawn(process.execPath, args, withSecretPipe(process.env, stdio));
  sendSecrets(child, stdio.length, secrets);
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => child.kill(name));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 1)));
}
