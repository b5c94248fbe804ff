import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import {
  cancelJob,
  type Enqueued,
  enqueueJob,
  enqueueJobs,
  getJob,
  type NewJob,
  pauseJob,
  promoteDueJobs,
  settleAttempts,
  type TenantScope,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { leaseOf, retried, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";

const database = await testDatabase();
const make = makeFactory(database);
const crowd = openDatabase({
  prepare: true,
  url: database.urlFor("web"),
  role: "web",
  max: 50,
  applicationName: "crowd",
});
let scope: TenantScope;
let definitionKey: string;
beforeAll(async () => {
  scope = await make.tenant();
  definitionKey = (await make.definition()).key;
});
afterAll(() => Promise.all([crowd.close(), make.close()]));

type Dedupe = NonNullable<NewJob["dedupe"]>;
let keys = 0;
const freshKey = () => `key-${++keys}`;
const ask = (dedupeKey: string, dedupe?: Dedupe, payload: unknown = {}) =>
  enqueueJob(crowd, scope, { definitionKey, dedupeKey, payload, ...(dedupe ? { dedupe } : {}) });
const jobsOf = async (key: string) =>
  (await database.query("select id from app.jobs where dedupe_key = $1", [key])).map(({ id }) => id as string);
const auditOf = async (jobId: string) =>
  (await database.query("select action from app.job_audit where job_id = $1 order by id", [jobId])).map(
    (r) => r.action,
  );
const hour = 3600;

describe("G-02 fifty parallel callers create one job with", () => {
  const ways: { dedupe: Dedupe }[] = [
    { dedupe: { mode: "live" } },
    { dedupe: { mode: "window", windowSeconds: hour } },
    { dedupe: { mode: "retained" } },
    { dedupe: { mode: "live", onConflict: "reschedule" } },
    { dedupe: { mode: "live", onConflict: "replace_payload" } },
    { dedupe: { mode: "retained", onConflict: "replace_payload" } },
  ];
  test.each(ways)("$dedupe", async ({ dedupe }) => {
    const key = freshKey();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(key, dedupe, { n })));
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    const done = { return: "returned", reschedule: "rescheduled", replace_payload: "replaced" };
    expect(answers.filter(({ conflict }) => conflict === done[dedupe.onConflict ?? "return"])).toHaveLength(49);
    expect(await jobsOf(key)).toHaveLength(1);
    await cancelJob(make.web, scope, answers[0]?.jobId ?? "");
  });
});

describe("a key is in use", () => {
  afterAll(() => database.moveClock(0));

  test.each<{ dedupe: Dedupe; after: readonly boolean[] }>([
    { dedupe: { mode: "live" }, after: [false, false] },
    { dedupe: { mode: "window", windowSeconds: hour }, after: [true, false] },
    { dedupe: { mode: "retained" }, after: [true, true] },
  ])("while its job is live, and afterwards as $dedupe.mode defines", async ({ dedupe, after }) => {
    await database.moveClock(0);
    const key = freshKey();
    const first = await ask(key, dedupe);
    expect((await ask(key, dedupe)).jobId).toBe(first.jobId);
    await cancelJob(make.web, scope, first.jobId);
    for (const [index, seconds] of [hour - 60, hour + 60].entries()) {
      await database.moveClock(seconds * 1000);
      const answer = await ask(key, dedupe);
      expect(answer.deduplicated).toBe(after[index]);
      if (answer.deduplicated) expect(answer).toMatchObject({ status: "canceled", conflict: "returned" });
      else await cancelJob(make.web, scope, answer.jobId);
    }
  });
});

describe("replace_payload", () => {
  const replace: Dedupe = { mode: "live", onConflict: "replace_payload" };
  const payloadOf = async (jobId: string) => (await getJob(make.web, scope, jobId))?.payload;

  test.each(["queued", "paused"] as const)("replaces the payload of a %s job", async (status) => {
    const key = freshKey();
    const { jobId } = await ask(key, replace, { n: 1 });
    if (status === "paused") await pauseJob(make.web, scope, jobId);
    expect(await ask(key, replace, { n: 2 })).toMatchObject({ jobId, conflict: "replaced", status });
    expect(await payloadOf(jobId)).toEqual({ n: 2 });
    expect(await auditOf(jobId)).toContain("dedupe_replaced");
    await cancelJob(make.web, scope, jobId);
  });

  test("does not change a running job, and returns it", async () => {
    const key = freshKey();
    const running = await make.runningJob(scope, { definitionKey, dedupeKey: key, payload: { n: 1 } });
    expect(await ask(key, replace, { n: 2 })).toMatchObject({
      jobId: running.jobId,
      conflict: "returned",
      status: "running",
    });
    expect(await payloadOf(running.jobId)).toEqual({ n: 1 });
    await settleAttempts(make.worker, [succeeded(running)]);
  });

  test("does not change a job that has begun, whose steps belong to the old payload", async () => {
    const key = freshKey();
    const begun = await make.runningJob(scope, { definitionKey, dedupeKey: key, payload: { n: 1 } });
    await settleAttempts(make.worker, [retried(begun, hour)]);
    expect(await ask(key, replace, { n: 2 })).toMatchObject({
      jobId: begun.jobId,
      conflict: "returned",
      status: "queued",
    });
    expect(await payloadOf(begun.jobId)).toEqual({ n: 1 });
    expect(await ask(key, { mode: "live", onConflict: "reschedule" })).toMatchObject({ conflict: "rescheduled" });
    await cancelJob(make.web, scope, begun.jobId);
  });

  test("changes a job that was claimed and released before it began", async () => {
    const key = freshKey();
    const { jobId } = await ask(key, replace, { n: 1 });
    const [claimed] = await make.claim("w");
    if (!claimed) throw new Error("nothing was claimed");
    await settleAttempts(make.worker, [{ ...leaseOf(claimed), status: "released", spent: false, retryInSeconds: 0 }]);
    expect(await ask(key, replace, { n: 2 })).toMatchObject({ jobId, conflict: "replaced" });
    expect(await payloadOf(jobId)).toEqual({ n: 2 });
    await cancelJob(make.web, scope, jobId);
  });

  test("a job claimed at the same time runs with the payload that the answer reports", async () => {
    for (let round = 0; round < 15; round += 1) {
      const key = freshKey();
      const { jobId } = await ask(key, replace, { n: "old" });
      const [answer, claimed] = await Promise.all([ask(key, replace, { n: "new" }), make.claim("w")]);
      await promoteDueJobs(make.scheduler, { limit: 10 });
      const taken =
        claimed.find((one) => one.jobId === jobId) ?? (await make.claim("w")).find((one) => one.jobId === jobId);
      if (!taken) throw new Error("the job was not claimed");
      expect(taken.payload).toEqual({ n: answer.conflict === "replaced" ? "new" : "old" });
      await settleAttempts(make.worker, [succeeded(taken)]);
    }
  });
});

describe("reschedule", () => {
  const inAnHour = new Date(Date.now() + hour * 1000);

  const move = (dedupeKey: string, scheduledFor?: Date, expiresAt?: Date) =>
    enqueueJob(crowd, scope, {
      definitionKey,
      dedupeKey,
      dedupe: { mode: "live", onConflict: "reschedule" },
      ...(scheduledFor ? { scheduledFor } : {}),
      ...(expiresAt ? { expiresAt } : {}),
    });
  const canBeClaimed = async (jobId: string) => (await make.claim("w")).some((one) => one.jobId === jobId);

  test("moves a waiting job forward and back, also in its record", async () => {
    const key = freshKey();
    const { jobId } = await move(key);
    expect(await move(key, inAnHour)).toMatchObject({ jobId, conflict: "rescheduled", scheduledFor: inAnHour });
    expect((await getJob(make.web, scope, jobId))?.wait_reason?.code).toBe("scheduled");
    const [record] = await database.query("select scheduled_for from app.jobs where id = $1", [jobId]);
    expect(record?.scheduled_for).toEqual(inAnHour);
    expect(await canBeClaimed(jobId)).toBe(false);
    expect(await move(key)).toMatchObject({ jobId, conflict: "rescheduled" });
    expect(await canBeClaimed(jobId)).toBe(true);
    expect(await move(key, inAnHour)).toMatchObject({ jobId, conflict: "returned", status: "running" });
  });

  test("does not move a job past its expiry", async () => {
    const key = freshKey();
    const soon = new Date(Date.now() + 60_000);
    const { jobId } = await move(key, undefined, soon);
    expect(await move(key, inAnHour)).toMatchObject({ jobId, conflict: "returned" });
    await cancelJob(make.web, scope, jobId);
  });
});

describe("while the holder ends", () => {
  test.each<{ dedupe: Dedupe }>([
    { dedupe: { mode: "live" } },
    { dedupe: { mode: "live", onConflict: "reschedule" } },
    { dedupe: { mode: "live", onConflict: "replace_payload" } },
  ])("a duplicate returns the holder or a new job, and at most one job is live: $dedupe", async ({ dedupe }) => {
    for (let round = 0; round < 6; round += 1) {
      const key = freshKey();
      const holder = await make.runningJob(scope, { definitionKey, dedupeKey: key });
      const [answers] = await Promise.all([
        Promise.all(Array.from({ length: 10 }, () => ask(key, dedupe))),
        settleAttempts(make.worker, [succeeded(holder)]),
      ]);
      const fresh = answers.filter(({ deduplicated }) => !deduplicated);
      expect(fresh.length).toBeLessThanOrEqual(1);
      const allowed = [holder.jobId, ...fresh.map(({ jobId }) => jobId)];
      expect(answers.filter(({ jobId }) => !allowed.includes(jobId))).toEqual([]);
      expect(await jobsOf(key)).toHaveLength(1 + fresh.length);
      await endAll(fresh);
    }
  });

  const endAll = async (jobs: readonly Enqueued[]) => {
    for (const { jobId } of jobs) await cancelJob(make.web, scope, jobId);
  };
});

test("API-11 items of a bulk request with the same key are one job", async () => {
  const key = freshKey();
  const jobs = [1, 2, 3].map((n) => ({ definitionKey, dedupeKey: key, payload: { n } }));
  const [first, ...others] = await enqueueJobs(crowd, scope, jobs);
  expect(others.map(({ jobId, conflict }) => [jobId, conflict])).toEqual(Array(2).fill([first?.jobId, "returned"]));
});
