import { join } from "node:path";
import { build } from "esbuild";
import { csvThread } from "./handlers/csv-thread";

let built: Promise<void> | undefined;

/** Builds the CSV thread's program and points `import-csv` to it. Builds once per process. */
export function useBuiltCsvThread(): Promise<void> {
  built ??= buildThread();
  return built;
}

async function buildThread(): Promise<void> {
  const entryPoints = [join(import.meta.dirname, "handlers/csv-thread.entry.ts")];
  const options = { bundle: true, write: false, platform: "node", format: "esm", logLevel: "error" } as const;
  const { outputFiles } = await build({ entryPoints, ...options });
  const program = Buffer.from(outputFiles[0]?.contents ?? "").toString("base64");
  csvThread.url = new URL(`data:text/javascript;base64,${program}`);
}
