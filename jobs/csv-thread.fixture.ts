import { join } from "node:path";
import { threadProgram } from "@/lib/testing/thread-program";
import { csvThread } from "./handlers/csv-thread";

let built: Promise<void> | undefined;

/** Builds the CSV thread's program and points `import-csv` to it. Builds once per process. */
export function useBuiltCsvThread(): Promise<void> {
  built ??= buildThread();
  return built;
}

async function buildThread(): Promise<void> {
  csvThread.url = await threadProgram(join(import.meta.dirname, "handlers/csv-thread.entry.ts"));
}
