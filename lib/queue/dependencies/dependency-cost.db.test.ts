import { afterAll, describe, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { type Dependency, enqueueJobs, type NewJob, settleAttempts, workOffReleases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { backendCpuOf } from "@/lib/testing/measure/backend-cpu";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, claimAll, child, see, succeed } = await makeLinkedJobs(database);
const db = openDatabase({
  prepare: true,
  url: database.urlFor("worker"),
  role: "worker",
  max: 1,
  applicationName: "cost",
  queryTimeoutMs: 120_000,
});
afterAll(() => Promise.all([db.close(), make.close()]));

/** Longest time of one release on an idle machine. PostgreSQL 18 took 100 seconds for the children of one job. */
const MOST_MS = 5000;
const NOISE_MS = 100;
/** As many values as a result may have. */
const KEYS = 9900;

const keysOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}abcdefg`, n]));

/** Ends a parent of `count` equal children, and returns what the end cost and the children's ids. */
async function endWith(result: unknown, count: number, on: Omit<Dependency, "jobId" | "ref">, job: Partial<NewJob>) {
  await claimAll();
  const parent = await make.runningJob(scope);
  const dependsOn = [{ jobId: parent.jobId, ...on }, ...(job.dependsOn ?? [])];
  const enqueued = await enqueueJobs(
    make.web,
    scope,
    Array.from({ length: count }, () => ({ definitionKey, ...job, dependsOn })),
  );
  const ids = enqueued.map(({ jobId }) => jobId);
  const ms = await backendCpuOf(db, () => settleAttempts(db, [succeeded(parent, result)]));
  return { ms, ids };
}

/** Counts the jobs that are no longer blocked. */
async function released(ids: readonly string[]): Promise<number> {
  const sql = "select count(*)::int as n from app.live_jobs where job_id = any ($1) and state <> 'blocked'";
  return (await database.query<{ n: number }>(sql, [ids]))[0]?.n ?? 0;
}

async function workOff(): Promise<void> {
  for (let handled = 1; handled > 0; ) ({ handled } = await workOffReleases(make.scheduler, { limit: 1000 }));
}

describe("A-04 cost of a parent's result in the statement that ends the parent", () => {
  const whole = { payload: { all: "{{parents.p.result}}" } };
  const data = { type: "data", as: "p" } as const;

  test("rendering a payload takes time in proportion to the size of the result", async () => {
    const small = await endWith(keysOf(KEYS / 4), 8, data, whole);
    const large = await endWith(keysOf(KEYS), 8, data, whole);
    expect([await released(small.ids), await released(large.ids)]).toEqual([8, 8]);
    expect(large.ms).toBeLessThanOrEqual(4 * 1.5 * small.ms + NOISE_MS);
  }, 120_000);

  test("a call renders as many children as fit into seconds, and the leader releases the others", async () => {
    const { ms, ids } = await endWith(keysOf(KEYS), 60, data, whole);
    expect(ms).toBeLessThan(MOST_MS);
    const first = await released(ids);
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(60);
    await workOff();
    expect(await released(ids)).toBe(60);
    const rendered = "select count(*)::int as n from app.jobs where id = any ($1) and payload = $2";
    expect(await database.query(rendered, [ids, { all: keysOf(KEYS) }])).toEqual([{ n: 60 }]);
  }, 120_000);

  test("results of other parents and the payload itself count too", async () => {
    await claimAll();
    const { id: other } = await make.job(scope);
    await succeed(other, { text: "x".repeat(250_000) });
    const both = await endWith(7, 60, data, {
      payload: ["{{parents.p.result}}", "{{parents.q.result}}"],
      dependsOn: [{ jobId: other, type: "data", as: "q" }],
    });
    const large = await endWith(7, 60, data, { payload: ["{{parents.p.result}}", "x".repeat(250_000)] });
    for (const { ids } of [both, large]) {
      expect(await released(ids)).toBeGreaterThan(0);
      expect(await released(ids)).toBeLessThan(60);
    }
    await workOff();
    expect([await released(both.ids), await released(large.ids)]).toEqual([60, 60]);
  }, 120_000);

  test("a condition costs the same for any size of the result", async () => {
    const never = Array.from({ length: 100 }, (_, n) => n + 100);
    const condition = { path: "result.z", op: "in", value: never } as const;
    const end = (keys: number) =>
      endWith({ o: keysOf(keys), z: 5 }, 100, { type: "conditional", condition }, { onParentFailure: "run" });
    const [small, large] = [await end(KEYS / 4), await end(KEYS)];
    expect([await released(small.ids), await released(large.ids)]).toEqual([100, 100]);
    expect(large.ms).toBeLessThanOrEqual(1.5 * small.ms + NOISE_MS);
  }, 120_000);
});

/** Returns a reproducible generator of numbers in [0, below). */
function makeRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = [
  "a",
  "b",
  "",
  '"',
  "\\",
  "\u0001",
  "\n",
  "é",
  "\u{1f600}",
  "__proto__",
  "0",
  "-1",
  "a:b",
  "x".repeat(300),
];
const VALUES = [
  ...["null", "true", "1.50", "-0", "1e400", "-1.25e-300", "123456789012345678901234567890", '""', "[]", "{}"],
  ...['{"a":1,"a":2}', '[[{"b":[1.0,null]}]]', '"{{x}} \\u0001\\" \\\\ \\u00e9 \\ud83d\\ude00 </"'],
];

/** Makes a JSON text with placeholders for some values, and the same text with the values filled in. */
function makeTemplate(random: (below: number) => number) {
  const places: string[][] = [];
  const values: string[] = [];
  const pick = (of: readonly string[]) => of[random(of.length)] ?? "null";
  const at = (path: string[], depth: number): [source: string, filled: string] => {
    const kind = depth === 0 ? 0 : random(4);
    if (kind === 0) {
      const value = pick(VALUES);
      if (random(2) === 0) return [value, value];
      places.push(path);
      values.push(value);
      return ['"place"', value];
    }
    const names = [...new Set(Array.from({ length: random(6) }, () => pick(NAMES)))];
    const inner = names.map((name, n) => ({ name, texts: at([...path, kind === 1 ? `${n}` : name], depth - 1) }));
    const join = (side: 0 | 1) =>
      kind === 1
        ? `[${inner.map(({ texts }) => texts[side]).join(",")}]`
        : `{${inner.map(({ name, texts }) => `${JSON.stringify(name)}:${texts[side]}`).join(",")}}`;
    return [join(0), join(1)];
  };
  const [source, filled] = at([], 6);
  return { source, filled, places, values };
}

describe("A-04 values filled into a payload", () => {
  interface Filling {
    readonly source: string;
    readonly places: readonly (readonly string[])[];
    readonly values: readonly string[];
  }
  /** Fills all of them in one statement, as text. */
  const fill = async (fillings: readonly Filling[]) => {
    const rows = await database.query<{ filled: string }>(
      `select app.filled_json_text(f.source::jsonb, array(select p from jsonb_array_elements(f.places::jsonb) p),
         array(select v::jsonb::text from jsonb_array_elements_text(f.texts::jsonb) v), 0)::jsonb::text as filled
       from unnest($1::text[], $2::text[], $3::text[]) with ordinality f (source, places, texts, n) order by f.n`,
      [
        fillings.map(({ source }) => source),
        fillings.map(({ places }) => JSON.stringify(places)),
        fillings.map(({ values }) => JSON.stringify(values)),
      ],
    );
    return rows.map(({ filled }) => filled);
  };

  test("are stored as they are, with their numbers, names and escapes, at any path", async () => {
    const random = makeRandom(1);
    const templates = Array.from({ length: 1000 }, () => makeTemplate(random)).filter(
      ({ places }) => places.length > 0,
    );
    expect(templates.flatMap(({ places }) => places).length).toBeGreaterThan(1000);
    const wanted = await database.query<{ filled: string }>(
      "select t::jsonb::text as filled from unnest($1::text[]) t",
      [templates.map(({ filled }) => filled)],
    );
    expect(await fill(templates)).toEqual(wanted.map(({ filled }) => filled));
  });

  test("a path that does not exist is a data exception", async () => {
    for (const [source, place] of [
      ['{"a":1}', ["b"]],
      ["[1]", ["1"]],
      ["[1]", ["x"]],
      ['{"a":1}', ["a", "b"]],
      ["{}", ["a", "b"]],
      ["null", ["a"]],
    ] as const)
      await expect(fill([{ source, places: [place], values: ["1"] }]), source).rejects.toMatchObject({
        code: expect.stringMatching(/^22/),
      });
  });

  test("a result appears in a payload as it was stored, as a value and within text", async () => {
    await claimAll();
    const parent = await make.runningJob(scope);
    const odd = { "": [1.5, -0.25, 9007199254740991], '"\\\n\u0001': "é\u{1f600}{{x}}", deep: [[[null, true]]] };
    const payload = { value: "{{parents.p.result}}", text: '"{{parents.p.result}}\n' };
    const jobId = await child([{ jobId: parent.jobId, type: "data", as: "p" }], { payload });
    await settleAttempts(make.worker, [succeeded(parent, odd)]);
    const [stored] = await database.query<{ text: string }>(
      "select result::text as text from app.job_attempts where job_id = $1 and outcome is not null",
      [parent.jobId],
    );
    expect((await see(jobId)).payload).toEqual({ value: odd, text: `"${stored?.text}\n` });
  });
});
