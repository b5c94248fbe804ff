import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createQueue,
  enqueueJob,
  enqueueJobs,
  getJob,
  type Job,
  type NewJob,
  type TenantScope,
  updateDefinition,
  updateQueue,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
let scope: TenantScope;
beforeAll(async () => {
  scope = await make.tenant();
});
afterAll(() => make.close());

const numbers = (n: number) => Array.from({ length: n }, (_, index) => index);
const NEEDS_N = { type: "object", required: ["n"] };

/** Returns a job without the fields that no two jobs share. */
async function storedOf(jobId: string): Promise<Partial<Job>> {
  const {
    id: _id,
    queued_at: queuedAt,
    scheduled_for: scheduledFor,
    ...view
  } = (await getJob(make.web, scope, jobId)) as Job;
  return scheduledFor === queuedAt ? view : { ...view, scheduled_for: scheduledFor };
}

describe("jobs that differ only in their payload", () => {
  test("are stored like jobs enqueued separately or with others", async () => {
    const { key } = await make.definition({ timeout_seconds: 70 });
    const queue = `q-${key}`;
    await createQueue(make.platform, { name: queue, default_priority: 7, max_attempts: 9 });
    const later = new Date(Date.now() + 3_600_000);
    const shapes: Partial<NewJob>[] = [
      {},
      { queue },
      { priority: 170, maxAttempts: 4, timeoutSeconds: 5, retryDelaySeconds: 2.5, retryMultiplier: 1.5 },
      { scheduledFor: later, expiresAt: new Date(later.getTime() + 1000), source: "system", sourceRef: "ref" },
      { tags: ["a", "b,c", '"{'], metadata: { deep: [1, null] }, correlationId: "corr" },
    ];
    for (const shape of shapes) {
      const job = { definitionKey: key, ...shape };
      const payload = { text: "ü\"\\'{}", list: [null, 1.5], none: {} };
      const alone = await storedOf((await enqueueJob(make.web, scope, { ...job, payload })).jobId);
      const alike = await enqueueJobs(make.web, scope, [{ ...job, payload: 1 }, { ...job, payload }, job]);
      const among = await enqueueJobs(make.web, scope, [
        { ...job, payload },
        { ...job, correlationId: "other" },
      ]);
      expect(await storedOf(alike[1]?.jobId ?? "")).toEqual(alone);
      expect(await storedOf(among[0]?.jobId ?? "")).toEqual(alone);
      expect((await getJob(make.web, scope, alike[0]?.jobId ?? ""))?.payload).toBe(1);
      expect((await getJob(make.web, scope, alike[2]?.jobId ?? ""))?.payload).toEqual({});
      expect(alike.map(({ status, scheduledFor, queuedAt }) => [status, scheduledFor >= queuedAt])).toEqual(
        Array(3).fill(["queued", true]),
      );
    }
  });

  test("get ascending ids and are counted", async () => {
    const { id, key } = await make.definition();
    const made = await enqueueJobs(
      make.web,
      scope,
      numbers(300).map((n) => ({ definitionKey: key, payload: { n } })),
    );
    const ids = made.map(({ jobId }) => jobId);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(300);
    const stored = await database.query<{ n: number }>(
      "select (payload ->> 'n')::integer as n from app.jobs where definition_id = $1 order by id",
      [id],
    );
    expect(stored.map(({ n }) => n)).toEqual(numbers(300));
    expect(
      await database.query("select kind, n from app.job_stat_deltas where definition_id = $1 and tenant_id = $2", [
        id,
        scope.tenantId,
      ]),
    ).toEqual([{ kind: "queued", n: 300 }]);
  });

  test("are stored completely or not at all", async () => {
    const { id, key } = await make.definition({ arg_schema: NEEDS_N });
    const jobs = [{ n: 1 }, { n: 2 }, {}].map((payload) => ({ definitionKey: key, payload }));
    await expect(enqueueJobs(make.web, scope, jobs)).rejects.toMatchObject({
      code: "payload-invalid",
      problems: [{ pointer: "/jobs/2/payload/n" }],
    });
    expect(await database.query("select 1 from app.jobs where definition_id = $1", [id])).toEqual([]);
  });
});

describe("concurrent calls that share a statement", () => {
  const callAll = (key: string, n: number, more: (n: number) => Partial<NewJob> = () => ({})) =>
    Promise.allSettled(
      numbers(n).map((index) =>
        enqueueJob(make.web, scope, { definitionKey: key, payload: { n: index }, ...more(index) }),
      ),
    );

  test("each get their own job with their own payload", async () => {
    const { id, key } = await make.definition();
    const answers = await callAll(key, 50);
    const stored = await database.query<{ id: string; n: number; at: Date }>(
      "select id, (payload ->> 'n')::integer as n, queued_at as at from app.jobs where definition_id = $1",
      [id],
    );
    expect(stored).toHaveLength(50);
    const byId = new Map(stored.map((row) => [row.id, row.n]));
    expect(answers.map((one) => one.status === "fulfilled" && byId.get(one.value.jobId))).toEqual(numbers(50));
    expect(new Set(stored.map(({ at }) => at.getTime())).size).toBeLessThan(50);
  });

  test("all notice a definition that changed since they read it", async () => {
    const { id, key } = await make.definition();
    await enqueueJob(make.web, scope, { definitionKey: key });
    await updateDefinition(make.platform, scope.actor, { id, patch: { arg_schema: NEEDS_N } });
    const answers = await callAll(key, 12, (n) => (n % 3 === 0 ? { payload: {} } : {}));
    expect(answers.map((one) => (one.status === "fulfilled" ? "accepted" : one.reason.code))).toEqual(
      numbers(12).map((n) => (n % 3 === 0 ? "payload-invalid" : "accepted")),
    );
    await updateDefinition(make.platform, scope.actor, { id, patch: { is_active: false } });
    expect((await callAll(key, 5)).map((one) => one.status === "rejected" && one.reason.code)).toEqual(
      Array(5).fill("definition-inactive"),
    );
  });

  test("are refused after their queue is disabled or their tenant suspended", async () => {
    const { key } = await make.definition();
    const name = `off-${key}`;
    const { id } = await createQueue(make.platform, { name });
    expect((await callAll(key, 5, () => ({ queue: name }))).every(({ status }) => status === "fulfilled")).toBe(true);
    await updateQueue(make.platform, { id, patch: { is_active: false } });
    const refused = await callAll(key, 5, () => ({ queue: name }));
    expect(refused.map((one) => one.status === "rejected" && one.reason)).toEqual(
      Array(5).fill(expect.objectContaining({ code: "queue-unknown", problems: [expect.anything()] })),
    );
    const setStatus = (status: string) =>
      database.query("update app.tenants set status = $1 where id = $2", [status, scope.tenantId]);
    await setStatus("suspended");
    const codes = (await callAll(key, 5)).map((one) => one.status === "rejected" && one.reason.code);
    await setStatus("active");
    expect(codes).toEqual(Array(5).fill("tenant-suspended"));
    expect((await callAll(key, 5)).every(({ status }) => status === "fulfilled")).toBe(true);
  });
});

test("PAYLOAD-11 the checked payload is stored, even if the caller reuses one object for all calls", async () => {
  const { key } = await make.definition({ arg_schema: { type: "object", properties: { n: { type: "integer" } } } });
  await enqueueJob(make.web, scope, { definitionKey: key, payload: { n: 0 } });
  const payload: { n: unknown } = { n: 0 };
  const calls = numbers(3).map((n) => {
    payload.n = n;
    return enqueueJob(make.web, scope, { definitionKey: key, payload });
  });
  payload.n = "\u0000";
  const stored = await Promise.all((await Promise.all(calls)).map(({ jobId }) => getJob(make.web, scope, jobId)));
  expect(stored.map((job) => job?.payload)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
});
