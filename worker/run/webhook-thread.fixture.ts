import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { webhookThreadFile } from "./webhook-thread";

/** Builds the program of the thread that sends webhooks, and lets `WebhookThread` use it. Answers its folder. */
export async function useBuiltWebhookThread(): Promise<string> {
  const entryPoints = [join(import.meta.dirname, "webhook-thread.entry.ts")];
  const banner = { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' };
  const options = { bundle: true, write: false, platform: "node", format: "esm", logLevel: "error", banner } as const;
  const { outputFiles } = await build({ entryPoints, ...options });
  const folder = mkdtempSync(join(tmpdir(), "leasehold-webhook-thread-"));
  const file = join(folder, "webhook-thread.mjs");
  writeFileSync(file, outputFiles[0]?.contents ?? "");
  webhookThreadFile.url = pathToFileURL(file);
  return folder;
}
