// One process of the installation, alone: web, worker, scheduler, migrate or seed. The program runs inside this very
// process, so that a signal to npm's child is a signal to the program.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runMain, Unusable } from "./lib/fail.mjs";
import { heapFlags } from "./lib/heap.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { ROOT } from "./lib/paths.mjs";
import { tightenCommands } from "./lib/tighten.mjs";

const PROGRAMS = { web: "web", worker: "worker", scheduler: "scheduler", migrate: "admin", seed: "admin" };

await runMain(async () => {
  const [verb, ...args] = process.argv.slice(2);
  const program = PROGRAMS[verb];
  if (!program) throw new Unusable(`usage: run.mjs ${Object.keys(PROGRAMS).join("|")}`);
  const flags = heapFlags();
  if (flags.length > 0) return runInside(flags);

  await ensureInstalled();
  if (program === "worker") tightenCommands();
  const { databaseEnvironment } = await import("./lib/runtime.mjs");
  const { build, distFolder } = await import("./lib/build.mjs");
  const testBuild = process.env.LEASEHOLD_TEST_BUILD === "1";
  Object.assign(process.env, databaseEnvironment());
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

/** @param {string[]} flags that only a new Node can take */
async function runInside(flags) {
  const self = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [...flags, self, ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, () => child.kill(name));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 1)));
}
