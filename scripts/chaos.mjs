// Fault tests with real processes, long form: `npm run chaos`, `npm run chaos -- --seed 42`, `npm run chaos -- network
// restart`. `--repeat 500 terminate` runs the short form of the named suites, 500 times or until one fails, each time
// with a new seed.
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";
import { inRoot } from "./lib/paths.mjs";
import { check, close, env, nothingLeft, vitest } from "./lib/test/test-run.mjs";

const LIMIT_MS = 3 * 3_600_000;

/**
 * Removes `--name N` from the words.
 * @param {string[]} words
 * @param {string} name
 * @returns {number | undefined} N, if it is given and an integer
 */
function takeNumber(words, name) {
  const at = words.indexOf(`--${name}`);
  const given = at >= 0 ? Number(words.splice(at, 2)[1]) : Number.NaN;
  return Number.isInteger(given) ? given : undefined;
}

await runMain(async () => {
  const words = process.argv.slice(2);
  const seed = takeNumber(words, "seed") ?? Math.floor(Math.random() * 2 ** 31);
  const repeat = takeNumber(words, "repeat");
  const form = repeat === undefined ? "long" : "short";
  env.CHAOS_FORM = form;
  await ensureInstalled();
  const built = await check("test build", [inRoot("scripts/build.mjs"), "--test-build"]);
  env.CHAOS_SEED = String(seed);
  env.CHAOS_REPEAT = String(repeat ?? 1);
  const args = repeat === undefined ? words : ["--bail=1", ...words];
  if (built) await vitest(`faults, ${form} form, seed ${seed}`, ["chaos"], args, { limitMs: LIMIT_MS });
  await nothingLeft();
  close();
});
