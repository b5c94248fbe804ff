// Compares the schedule engine with a clock that is read minute by minute, in full: `npm run oracle`.
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { close, env, vitest } from "./lib/test/test-run.mjs";

const LIMIT_MS = 3_600_000;

await runMain(async () => {
  env.ORACLE_FORM = "full";
  await ensureInstalled();
  await vitest("schedules around every change of the clock", ["unit"], ["lib/testing/schedule-oracle"], LIMIT_MS);
  close();
});
