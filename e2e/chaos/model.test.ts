import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { runModel } from "@/lib/testing/model/run-model";
import { pick, seed } from "./profile";

const RUNS = pick({ short: 300, long: 5000 });
const STEPS = pick({ short: 40, long: 60 });
const LIMIT_MS = pick({ short: 8 * 60_000, long: 60 * 60_000 });
const database = await testDatabase();

test("R-12 after every step of any sequence of verbs the database equals the model", {
  timeout: LIMIT_MS,
}, async () => {
  console.info(`seed ${seed}: ${RUNS} runs of ${STEPS} steps`);
  const began = performance.now();
  const { steps, kinds } = await runModel(database, { runs: RUNS, steps: STEPS, seed });
  const counts = [...kinds].map(([kind, n]) => `${n} × ${kind}`).join(", ");
  console.info(`${steps} steps in ${Math.round((performance.now() - began) / 1000)} s: ${counts}`);
  expect(steps).toBe(RUNS * STEPS);
  for (const [kind, n] of kinds) expect(n, kind).toBeGreaterThan(RUNS / 10);
});
