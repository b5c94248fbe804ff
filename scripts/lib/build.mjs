import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { runQuietly } from "./child.mjs";
import { hashSources, readText, writeWhole } from "./files.mjs";
import { inRoot, ROOT } from "./paths.mjs";
import { runStep } from "./progress.mjs";

const SHARED = ["lib", "package-lock.json", "package.json", "tsconfig.json"];
const PROCESS_SOURCES = [
  ...SHARED,
  "web",
  "worker",
  "scheduler",
  "admin",
  "jobs",
  "drizzle/schema",
  "scripts/lib/build.mjs",
];
const WEB_SOURCES = [
  ...SHARED,
  "app",
  "components",
  "web",
  "public",
  "drizzle/schema",
  "next.config.ts",
  "postcss.config.mjs",
];

/** Every input of a build, as paths from the root. */
export const BUILD_SOURCES = [...new Set([...PROCESS_SOURCES, ...WEB_SOURCES, "scripts/build.mjs", "scripts/run.mjs"])];

// Native add-ons and Next cannot be bundled; the others find their files relative to their own folder.
const EXTERNAL = ["pg-native", "@node-rs/argon2", "next"];
const BANNER = `import { createRequire as __createRequire } from "node:module";
import { fileURLToPath as __toPath } from "node:url";
const require = __createRequire(import.meta.url);
const __filename = __toPath(import.meta.url);
const __dirname = __toPath(new URL(".", import.meta.url));`;

/** @typedef {{ testBuild?: boolean }} BuildOptions */

/** @param {BuildOptions} options */
export function distFolder({ testBuild = false } = {}) {
  return testBuild ? inRoot("dist", "test") : inRoot("dist");
}

/**
 * Builds everything older than its sources: the processes with esbuild, the pages with Next.
 * @param {BuildOptions & { pages?: boolean }} options
 */
export async function build({ testBuild = false, pages = true } = {}) {
  await buildProcesses({ testBuild });
  if (pages) await buildPages({ testBuild });
}

/** @param {BuildOptions} options */
export async function buildProcesses({ testBuild = false } = {}) {
  const out = distFolder({ testBuild });
  const stamp = path.join(out, "stamp");
  const wanted = hashSources(PROCESS_SOURCES, [String(testBuild)]);
  if (readText(stamp) === wanted) return false;
  const { build: esbuild } = await import("esbuild");
  const common = commonOptions({ out, testBuild });
  const results = await Promise.all([
    esbuild({ ...common, entryPoints: bundledEntries(), external: EXTERNAL, banner: { js: BANNER } }),
    esbuild({ ...common, entryPoints: { web: "web/main.ts" }, packages: "external" }),
  ]);
  for (const file of results.flatMap((result) => result.outputFiles)) writeWhole(file.path, file.contents);
  writeWhole(stamp, wanted);
  return true;
}

/** @param {{ out: string, testBuild: boolean }} options */
function commonOptions({ out, testBuild }) {
  return {
    absWorkingDir: ROOT,
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "esm",
    sourcemap: true,
    // A test build has its sources beside it, and a file half the size starts a process faster.
    sourcesContent: !testBuild,
    logLevel: "error",
    define: { __LEASEHOLD_TEST_BUILD__: String(testBuild) },
    // The installation's handlers; in test builds also one that harms its worker.
    ...(testBuild ? { alias: { "@/jobs": inRoot("worker/harmful-jobs.fixture.ts") } } : {}),
  };
}

/** Builds the benchmarks, and the background processes as shipped, but with the benchmark's own handler. */
export async function buildBench() {
  const { build: esbuild } = await import("esbuild");
  const { admin: _seedsInstallations, ...entries } = bundledEntries();
  const { outputFiles } = await esbuild({
    ...commonOptions({ out: inRoot("bench/dist"), testBuild: false }),
    entryPoints: { ...entries, client: "bench/leasehold/client.ts", main: "bench/main.ts" },
    alias: { "@/jobs": inRoot("bench/leasehold/jobs.ts") },
    external: EXTERNAL,
    banner: { js: BANNER },
  });
  for (const file of outputFiles) writeWhole(file.path, file.contents);
}

/** Returns programs that run without node_modules, and the threads and helpers they start (`*.entry.ts`). */
function bundledEntries() {
  const entries = { worker: "worker/main.ts", scheduler: "scheduler/main.ts", admin: "admin/main.ts" };
  const helpers = ["lib", "worker", "scheduler", "jobs"].flatMap((folder) =>
    readdirSync(inRoot(folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".entry.ts"))
      .map((name) => [path.basename(name, ".entry.ts"), path.join(folder, name)]),
  );
  return { ...entries, ...Object.fromEntries(helpers) };
}

/** @param {BuildOptions} options */
export async function buildPages({ testBuild = false } = {}) {
  const folder = inRoot(testBuild ? ".next-test" : ".next");
  const stamp = path.join(folder, "leasehold-stamp");
  const wanted = hashSources(WEB_SOURCES, [String(testBuild)]);
  if (readText(stamp) === wanted && existsSync(path.join(folder, "BUILD_ID"))) return false;
  rmSync(stamp, { force: true });
  const tracked = ["tsconfig.json", "next-env.d.ts"].map((name) => [inRoot(name), readText(inRoot(name))]);
  await runStep(testBuild ? "building the pages for tests" : "building the pages (about half a minute)", () =>
    runQuietly("next build", [inRoot("node_modules/next/dist/bin/next"), "build"], {
      env: {
        ...process.env,
        NODE_ENV: "production",
        NEXT_TELEMETRY_DISABLED: "1",
        LEASEHOLD_TEST_BUILD: testBuild ? "1" : "",
      },
    }),
  );
  // Next adds its own folders to tsconfig.json; the tree must stay as checked out.
  for (const [file, before] of tracked) {
    if (before !== null && readFileSync(file, "utf8") !== before) writeWhole(file, before);
  }
  writeWhole(stamp, wanted);
  return true;
}
