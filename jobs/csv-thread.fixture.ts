import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { csvThread } from "./handlers/csv-thread";

let built: Promise<void> | undefined;

/** Builds the program of the thread that reads CSV files, and lets `import-csv` use it. Once in a process. */
export function useBuiltCsvThread(): Promise<void> {
  built ??= buildThread();
  return built;
}

async function buildThread(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "csv-thread-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "csv-thread.mjs");
  const entryPoints = [join(import.meta.dirname, "handlers/csv-thread.entry.ts")];
  await build({ entryPoints, outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  csvThread.url = pathToFileURL(outfile);
}
