import { expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "@/lib/testing/database";
import { runModel } from "@/lib/testing/model/run-model";
import { pick, seed } from "./profile";

const RUNS = pick({ short: 150, long: 5000 });
const STEPS = pick({ short: 40, long: 60 });
const LIMIT_MS = pick({ short: 8 * 60_000, long: 170 * 60_000 });
const database = await testDatabase();

test("R-12 after every step of any sequence of verbs the database equals the model", {
  timeout: LIMIT_MS,
}, async () => {
  console.info(`seed ${seed}: ${RUNS} runs of ${STEPS} steps`);
  const began = performance.now();
  const onRun = (done: number) => {
    if (done % (STEPS * 500) === 0) console.info(`${done} steps so far, no difference`);
  };
  const { steps, kinds } = await runModel(database, { runs: RUNS, steps: STEPS, seed, onRun });
  const counts = [...kinds].map(([kind, n]) => `${n} × ${kind}`).join(", ");
  console.info(`${steps} steps in ${Math.round((performance.now() - began) / 1000)} s: ${counts}`);
  expect(steps).toBe(RUNS * STEPS);
  for (const [kind, n] of kinds) expect(n, kind).toBeGreaterThan(RUNS / 10);
});

/** Replaces the text of a database function. */
async function rewrite({ query }: TestDatabase, name: string, change: (text: string) => string): Promise<void> {
  const [made] = await query<{ text: string }>(
    "select pg_get_functiondef(oid) as text from pg_proc where proname = $1",
    [name],
  );
  const changed = change(made?.text ?? "");
  expect(changed).not.toBe(made?.text);
  await query(changed);
}

const onEach = (event: string, body: string): string => `
  create function public.breakage() returns trigger language plpgsql as $$ begin ${body} return new; end $$;
  create trigger breakage before ${event} on app.live_jobs for each row execute function public.breakage()`;

const BREAKAGES: readonly (readonly [what: string, break_: (broken: TestDatabase) => Promise<unknown>])[] = [
  [
    "takes no start from the bucket",
    (broken) =>
      rewrite(broken, "reserve_slots", (text) => text.replace("g.tokens - (floor(g.tokens) - g.room)", "g.tokens")),
  ],
  [
    "counts no reservation and no lease",
    (broken) =>
      rewrite(broken, "reserve_slots", (text) => text.replace("coalesce(sum(x.k), 0)", "coalesce(sum(0 * x.k), 0)")),
  ],
  [
    "takes any end of a parent for what a child waits for",
    (broken) =>
      rewrite(broken, "edge_holds", (text) => text.replace(/p_outcome = 'succeeded'/g, "p_outcome is not null")),
  ],
  [
    "spends an attempt on what is put off or given back",
    ({ query }) =>
      query(
        onEach(
          "update",
          "if old.state = 'running' and new.state = 'queued' then new.attempts_spent := old.attempts_spent + 1; end if;",
        ),
      ),
  ],
  [
    "counts runs by two",
    ({ query }) => query(onEach("insert", "if new.run_no > 1 then new.run_no := new.run_no + 1; end if;")),
  ],
];

/** With the seed of the short form, these faults are found within a few sequences. */
const SOON = 3;

test.each(BREAKAGES)("the model detects a database that %s", { timeout: LIMIT_MS }, async (_, break_) => {
  const broken = await testDatabase();
  await break_(broken);
  const difference = await runModel(broken, { runs: 300, steps: 40, seed: seed + SOON }).then(
    () => "none",
    (error: Error) => (error.cause as Error).message,
  );
  expect(difference).toMatch(/\nexpected .+ to (deeply equal|be) /);
});
