// The benchmarks of bench/README.md. Peers, and the Node version that runs all systems, are installed on first use.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { capture } from "./lib/child.mjs";
import { runMain, Unusable } from "./lib/fail.mjs";
import { readText, writeWhole } from "./lib/files.mjs";
import { ensureInstalled, npmProgram } from "./lib/install.mjs";
import { inRoot } from "./lib/paths.mjs";
import { runStep } from "./lib/progress.mjs";

const PEERS_WANT_NODE = 22;

await runMain(async () => {
  const args = process.argv.slice(2);
  await ensureInstalled();
  // Leasehold alone needs no peers, and runs on any Node.
  const alone = args[args.indexOf("--only") + 1] === "leasehold" && args.includes("--only");
  if (!alone) await ensurePeers();
  const { buildBench } = await import("./lib/build.mjs");
  await buildBench();
  const against = args.indexOf("--against") + 1;
  if (against > 0) args[against] = await buildOther(args[against]);
  process.exitCode = await run(alone ? process.execPath : nodeForPeers(), [inRoot("bench/dist/main.mjs"), ...args]);
});

/**
 * Builds the programs of another checkout, with its own scripts and packages. Returns its folder.
 * @param {string | undefined} given
 */
async function buildOther(given) {
  const root = resolve(given ?? "");
  if (!given || !existsSync(join(root, "scripts/bench.mjs")))
    throw new Unusable("--against needs the folder of a checkout.");
  await runStep("building the version to compare with", async () => {
    // Without a scenario, it builds and prints its usage.
    const { output } = await capture(["scripts/bench.mjs", "--only", "leasehold"], { cwd: root });
    if (!existsSync(join(root, "bench/dist/main.mjs")))
      throw new Unusable(`${root} cannot be built:\n${output.slice(-4000)}`);
  });
  return root;
}

async function ensurePeers() {
  const stamp = inRoot("bench/node_modules/.install-stamp");
  const wanted = createHash("sha256")
    .update(readFileSync(inRoot("bench/package-lock.json")))
    .digest("hex");
  if (readText(stamp) === wanted) return;
  await runStep("installing the packages of the peers", async () => {
    const { code, output } = await capture([npmProgram(), "ci", "--no-audit", "--no-fund"], { cwd: inRoot("bench") });
    if (code !== 0) throw new Unusable(`npm ci failed in bench/ (exit ${code}):\n${output.slice(-4000)}`);
  });
  writeWhole(stamp, wanted);
}

function nodeForPeers() {
  if (Number(process.versions.node.split(".")[0]) >= PEERS_WANT_NODE) return process.execPath;
  const own = inRoot("bench/node_modules/node/bin/node");
  if (!existsSync(own)) throw new Unusable(`The peers need Node ${PEERS_WANT_NODE}. Run with a newer Node.`);
  return own;
}

/**
 * @param {string} node
 * @param {string[]} args
 * @returns {Promise<number>}
 */
function run(node, args) {
  const child = spawn(node, ["--enable-source-maps", ...args], { stdio: "inherit", cwd: inRoot() });
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => child.kill(name));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}
