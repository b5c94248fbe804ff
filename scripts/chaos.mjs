// Faults in real processes, long form: `npm run chaos`, `npm run chaos -- --seed 42`, `npm run chaos -- network restart`.
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { inRoot } from "./lib/paths.mjs";
import { check, close, env, nothingLeft, vitest } from "./lib/test-run.mjs";

const LIMIT_MS = 3 * 3_600_000;

await runMain(async () => {
  const words = process.argv.slice(2);
  const at = words.indexOf("--seed");
  const given = at >= 0 ? Number(words.splice(at, 2)[1]) : Number.NaN;
  env.CHAOS_SEED = String(Number.isInteger(given) ? given : Math.floor(Math.random() * 2 ** 31));
  env.CHAOS_FORM = "long";
  await ensureInstalled();
  if (await check("test build", [inRoot("scripts/build.mjs"), "--test-build"]))
    await vitest(`faults, long form, seed ${env.CHAOS_SEED}`, ["chaos"], words, { limitMs: LIMIT_MS });
  await nothingLeft();
  close();
});
