import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const SOURCES = ["app", "components", "lib", "next.config.ts", "package.json"];
const ENTRY = join(process.cwd(), "dist", "test", "web.mjs");
const STAMP = join(process.cwd(), ".next-test", "BUILD_ID");

/** The bundled front of a test build, made anew when a source is newer than it. */
export async function builtWeb(): Promise<string> {
  if (!existsSync(STAMP) || !existsSync(ENTRY) || newest(SOURCES) > statSync(STAMP).mtimeMs) await build();
  return ENTRY;
}

async function build(): Promise<void> {
  const run = promisify(execFile);
  const settings = { NODE_ENV: "production", LEASEHOLD_TEST_BUILD: "1", NEXT_TELEMETRY_DISABLED: "1" } as const;
  const env = { ...process.env, ...settings };
  await run(process.execPath, ["node_modules/next/dist/bin/next", "build"], { env });
  const { build: bundle } = await import("esbuild");
  await bundle({
    entryPoints: ["lib/web/main.ts"],
    outfile: ENTRY,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: true,
    define: { __LEASEHOLD_TEST_BUILD__: "true" },
  });
}

function newest(paths: readonly string[]): number {
  return Math.max(0, ...paths.map((path) => (existsSync(path) ? newestIn(path) : 0)));
}

function newestIn(path: string): number {
  const stats = statSync(path);
  if (!stats.isDirectory()) return /\.test\.tsx?$/.test(path) ? 0 : stats.mtimeMs;
  return newest(readdirSync(path).map((name) => join(path, name)));
}
