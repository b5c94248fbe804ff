import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";

await runMain(async () => {
  await ensureInstalled();
  const { build } = await import("./lib/build.mjs");
  await build({ testBuild: process.argv.includes("--test-build"), pages: !process.argv.includes("--processes-only") });
});
