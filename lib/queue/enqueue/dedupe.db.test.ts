import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import {
  cancelJob,
  createQueue,
  type Definition,
  enqueueJob,
  enqueueJobs,
  getJob,
  type NewJob,
  settleAttempts,
  type TenantScope,
  updateDefinition,
  updateQueue,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { backendCpuOf } from "@/lib/testing/measure/backend-cpu";
import { waitFor } from "@/lib/testing/processes";
import { succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const LATER = new Date(Date.now() + 3_600_000);
let scope: TenantScope;
let definition: Definition;
beforeAll(async () => {
  scope = await make.tenant();
  definition = await make.definition();
});
afterAll(() => make.close());

let keys = 0;
const freshKey = () => `key-${++keys}`;
const enqueue = (job: Partial<NewJob>) => enqueueJob(make.web, scope, { definitionKey: definition.key, ...job });
const payloadOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.payload;

describe("a dedupe key in use", () => {
  test("replace_payload replaces the waiting job's payload for each of fifty concurrent callers", async () => {
    const dedupeKey = freshKey();
    const dedupe = { mode: "live", onConflict: "replace_payload" } as const;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => enqueue({ dedupeKey, dedupe, payload: { n }, scheduledFor: LATER })),
    );
    const [first] = answers.filter(({ deduplicated }) => !deduplicated);
    expect(new Set(answers.map(({ jobId }) => jobId))).toEqual(new Set([first?.jobId]));
    expect(answers.map(({ conflict }) => conflict).sort()).toEqual([null, ...Array(49).fill("replaced")].sort());
    const last = await enqueue({ dedupeKey, dedupe, payload: { n: "last" } });
    expect(last).toMatchObject({ deduplicated: true, conflict: "replaced", jobId: first?.jobId });
    expect(await payloadOf(last.jobId)).toEqual({ n: "last" });
  });

  test("reschedule moves the waiting job, which can be claimed at its new time", async () => {
    const dedupeKey = freshKey();
    const held = await enqueue({ dedupeKey, scheduledFor: LATER });
    const dedupe = { mode: "live", onConflict: "reschedule" } as const;
    const moved = await enqueue({ dedupeKey, dedupe, scheduledFor: new Date(LATER.getTime() + 1000) });
    expect(moved).toMatchObject({ jobId: held.jobId, conflict: "rescheduled" });
    expect((await getJob(make.web, scope, held.jobId))?.scheduled_for).toEqual(new Date(LATER.getTime() + 1000));
    expect((await make.claim("w")).map(({ jobId }) => jobId)).not.toContain(held.jobId);
    await enqueue({ dedupeKey, dedupe });
    expect((await make.claim("w")).map(({ jobId }) => jobId)).toContain(held.jobId);
  });

  test("does not change a running job or a job of another definition", async () => {
    const dedupeKey = freshKey();
    const running = await make.runningJob(scope, { definitionKey: definition.key, dedupeKey, payload: { n: 1 } });
    for (const onConflict of ["replace_payload", "reschedule", "return"] as const) {
      const answer = await enqueue({ dedupeKey, dedupe: { mode: "live", onConflict }, payload: { n: 2 } });
      expect(answer).toMatchObject({ jobId: running.jobId, deduplicated: true, conflict: "returned" });
    }
    expect(await payloadOf(running.jobId)).toEqual({ n: 1 });
    const other = await make.definition();
    const own = freshKey();
    const held = await enqueue({ dedupeKey: own, payload: { n: 3 }, scheduledFor: LATER });
    const dedupe = { mode: "live", onConflict: "replace_payload" } as const;
    const answer = await enqueue({ definitionKey: other.key, dedupeKey: own, dedupe, payload: { n: 4 } });
    expect(answer).toMatchObject({ jobId: held.jobId, conflict: "returned" });
    expect(await payloadOf(held.jobId)).toEqual({ n: 3 });
  });

  test("a replaced payload belongs to the definition version that it was checked against", async () => {
    const own = await make.definition({ arg_schema: { type: "object", properties: { n: { type: "integer" } } } });
    const dedupeKey = freshKey();
    const held = await enqueue({ definitionKey: own.key, dedupeKey, payload: { n: 1 }, scheduledFor: LATER });
    const argSchema = { type: "object", properties: { n: { type: "string" } } };
    await updateDefinition(make.platform, scope.actor, { id: own.id, patch: { arg_schema: argSchema } });
    const dedupe = { mode: "live", onConflict: "replace_payload" } as const;
    await enqueue({ definitionKey: own.key, dedupeKey, dedupe, payload: { n: "text" } });
    expect(await getJob(make.web, scope, held.jobId)).toMatchObject({ payload: { n: "text" }, definition_version: 2 });
  });

  test.each(["live", "window", "retained"] as const)(
    "Z-10 %s: fifty callers while the holder ends never create two live jobs, and every answer names a job",
    async (mode) => {
      for (let round = 0; round < 5; round += 1) {
        const dedupeKey = freshKey();
        const dedupe = mode === "window" ? { mode, windowSeconds: 60 } : { mode };
        const holder = await make.runningJob(scope, { definitionKey: definition.key, dedupeKey, dedupe });
        const [answers] = await Promise.all([
          Promise.all(Array.from({ length: 50 }, () => enqueue({ dedupeKey, dedupe }))),
          settleAttempts(make.worker, [succeeded(holder)]),
        ]);
        const made = new Set(answers.filter(({ deduplicated }) => !deduplicated).map(({ jobId }) => jobId));
        expect(made.size).toBeLessThanOrEqual(mode === "live" ? 1 : 0);
        for (const { jobId } of answers) expect(made.has(jobId) || jobId === holder.jobId).toBe(true);
        for (const jobId of made) await cancelJob(make.web, scope, jobId);
      }
    },
  );
});

describe("settings that a job leaves open", () => {
  test("changing a queue while a keyed job waits for its key loses no job and leaves no key", async () => {
    const queue = await createQueue(make.platform, { name: `moved-${Date.now()}` });
    const own = await make.definition({ queue: queue.name });
    const dedupeKey = freshKey();
    // The lane exists already, so no transaction locks the queue's row.
    await enqueue({ definitionKey: own.key });
    const beside = new pg.Client({ connectionString: database.adminUrl });
    await beside.connect();
    await beside.query("begin");
    await beside.query("insert into app.dedupe_keys (tenant_id, key, job_id) values ($1, $2, app.new_id())", [
      scope.tenantId,
      dedupeKey,
    ]);
    const asked = enqueueJobs(make.web, scope, [
      { definitionKey: own.key, dedupeKey },
      { definitionKey: own.key, dedupeKey: freshKey() },
    ]);
    await waitFor(async () => {
      const [row] = await database.query("select count(*)::int as n from pg_locks where not granted");
      return row?.n > 0;
    });
    await updateQueue(make.platform, { id: queue.id, patch: { default_priority: 20 } });
    await beside.query("rollback");
    await beside.end();
    const made = await asked;
    const jobs = await Promise.all(made.map(({ jobId }) => getJob(make.web, scope, jobId)));
    expect(jobs.map((job) => [job?.status, job?.priority])).toEqual([
      ["queued", 20],
      ["queued", 20],
    ]);
  });

  test("P-01 A-18 come from its definition, then its queue, then the installation", async () => {
    const settings = { defaultPriority: 40, maxAttempts: 7, timeoutSeconds: 77 };
    const queue = await createQueue(make.platform, { name: `q-${Date.now()}`, ...settings });
    const open = await make.definition({ queue: queue.name });
    const own = await make.definition({ queue: queue.name, max_attempts: 2, timeout_seconds: 22 });
    const plain = await make.definition();
    const asked = [
      { definitionKey: open.key },
      { definitionKey: own.key },
      { definitionKey: plain.key },
      { definitionKey: plain.key, queue: queue.name },
      { definitionKey: open.key, priority: 5, maxAttempts: 1, timeoutSeconds: 11 },
    ];
    const bulk = await enqueueJobs(make.web, scope, asked);
    const single = await Promise.all(asked.map((job) => enqueueJob(make.web, scope, job)));
    for (const made of [bulk, single]) {
      const found = await Promise.all(made.map(({ jobId }) => getJob(make.web, scope, jobId)));
      expect(found.map((job) => [job?.queue, job?.priority, job?.max_attempts, job?.timeout_seconds])).toEqual([
        [queue.name, 40, 7, 77],
        [queue.name, 40, 2, 22],
        ["default", 100, 3, 3600],
        [queue.name, 40, 7, 77],
        [queue.name, 5, 1, 11],
      ]);
    }
    expect([open.max_attempts, open.timeout_seconds]).toEqual([7, 77]);
    const patched = await updateDefinition(make.platform, scope.actor, { id: own.id, patch: { max_attempts: null } });
    expect([patched.max_attempts, patched.timeout_seconds]).toEqual([7, 22]);
  });

  test("an unknown queue is refused by every form of enqueue, and nothing is stored", async () => {
    const job = { definitionKey: definition.key, queue: "no-such-queue" };
    for (const jobs of [[job], [{ definitionKey: definition.key }, job], [{ ...job, dedupeKey: freshKey() }]]) {
      await expect(enqueueJobs(make.web, scope, jobs)).rejects.toMatchObject({ code: "queue-unknown" });
    }
  });
});

test("the cost of a dedupe key does not grow with the payload, whether or not the payload is replaced", async () => {
  const connection = { url: database.urlFor("web"), role: "web", max: 1, applicationName: "keys" } as const;
  const web = openDatabase({ prepare: true, ...connection });
  try {
    const payload = Object.fromEntries(Array.from({ length: 9900 }, (_, n) => [`key${n}abcdefg`, n]));
    const costOf = (jobs: Partial<NewJob>[]) =>
      backendCpuOf(web, () =>
        enqueueJobs(
          web,
          scope,
          jobs.map((job) => ({ definitionKey: definition.key, payload, scheduledFor: LATER, ...job })),
        ),
      );
    const dedupe = { mode: "live", onConflict: "replace_payload" } as const;
    const [taken, free] = [
      [freshKey(), freshKey(), freshKey()],
      [freshKey(), freshKey(), freshKey()],
    ];
    const plain = await costOf([{}, {}, {}]);
    expect(await costOf(taken.map((dedupeKey) => ({ dedupeKey })))).toBeLessThan(2 * plain + 200);
    expect(await costOf(free.map((dedupeKey) => ({ dedupeKey, dedupe })))).toBeLessThan(2 * plain + 200);
    expect(await costOf(taken.map((dedupeKey) => ({ dedupeKey, dedupe })))).toBeLessThan(3 * plain + 200);
  } finally {
    await web.close();
  }
}, 60_000);
