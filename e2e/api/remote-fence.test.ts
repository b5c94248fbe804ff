import { afterAll, describe, expect, test } from "vitest";
import { openDatabase } from "@/lib/db";
import { rescueExpiredLeases } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { remoteFixture } from "./remote-fixture";

const NOBODY = "01890000-0000-7000-8000-000000000000";
const database = await testDatabase();
const { make, acme, globex, superAdmin, foreignKey, enqueue, expectProblem, remote, everything, jobOf, attemptsOf } =
  await remoteFixture(database);
const scheduler = openDatabase({
  prepare: true,
  url: database.urlFor("scheduler"),
  role: "scheduler",
  max: 1,
  applicationName: "leasehold-test",
});
afterAll(() => scheduler.close());

describe("a lease that is lost", () => {
  test("LEASE-01 refuses every write with 409 and stores no part of it", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    await database.query("update app.live_jobs set lease_expires_at = now() - interval '1 s' where job_id = $1", [id]);
    await rescueExpiredLeases(scheduler, { limit: 10, random: Math.random });
    const before = await everything(id);
    const writes: [string, object][] = [
      ["heartbeat", { logs: [{ seq: 0, message: "late" }], progress: { percent: 1 } }],
      ["complete", { result: 1 }],
      ["fail", { message: "late" }],
      ["fail", { outcome: "released" }],
    ];
    for (const [verb, body] of writes) {
      expectProblem(await post(`jobs/${id}/${verb}`, { lease_no: 1, ...body }), 409, "lease-lost");
      expectProblem(await post(`jobs/${id}/${verb}`, { lease_no: 2, ...body }), 409, "lease-lost");
      expectProblem(await post(`jobs/${NOBODY}/${verb}`, { lease_no: 1, ...body }), 409, "lease-lost");
    }
    expect(await everything(id)).toEqual(before);
  });

  test("a heartbeat past the time limit ends the attempt instead of renewing its lease", async () => {
    const { definition, claim, post } = await remote({ definition: { timeout_seconds: 5, kill_grace_seconds: 0 } });
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    expect((await post(`jobs/${id}/heartbeat`, { lease_no: 1 })).status).toBe(200);
    await database.query("update app.live_jobs set attempt_started_at = now() - interval '60 s' where job_id = $1", [
      id,
    ]);
    expectProblem(await post(`jobs/${id}/heartbeat`, { lease_no: 1 }), 409, "lease-lost");
    expect((await attemptsOf(id))[0].status).toBe("timeout");
  });
});

test("an end that the database refuses answers 500, and repeating it stores it", async () => {
  const { definition, claim, post } = await remote();
  const { id } = await enqueue({ definition_key: definition });
  await claim();
  await database.query(`create function public.refuse() returns trigger language plpgsql as
    $$ begin raise exception 'no' using errcode = '23514'; end $$`);
  await database.query(
    "create trigger refuse before insert on app.job_attempts for each row execute function public.refuse()",
  );
  expectProblem(await post(`jobs/${id}/complete`, { lease_no: 1, result: 1 }), 500, "internal-error");
  await database.query("drop trigger refuse on app.job_attempts");
  expect((await post(`jobs/${id}/complete`, { lease_no: 1, result: 1 })).body.status).toBe("succeeded");
});

describe("what a malicious remote worker gets", () => {
  test("K-2 a key returns nothing about definitions, queues and tenants outside its scope", async () => {
    const mine = await remote({ tenantId: acme.id, queues: ["default"] });
    const other = await remote();
    await enqueue({ definition_key: mine.definition }, foreignKey);
    await enqueue({ definition_key: mine.definition, queue: "analytics-processing" });
    await enqueue({ definition_key: other.definition });
    expect(await mine.claim({ wait_seconds: 1 })).toEqual([]);
    for (const body of [
      { definitions: [other.definition] },
      { definitions: [mine.definition, other.definition] },
      { definitions: ["any"] },
      { queues: ["analytics-processing"] },
    ]) {
      const answer = await mine.post("jobs/claim", { worker: { name: "x" }, definitions: [mine.definition], ...body });
      expectProblem(answer, 403, "insufficient-scope");
    }
    const { id } = await enqueue({ definition_key: mine.definition });
    expect((await mine.claim()).map((job: { job_id: string }) => job.job_id)).toEqual([id]);
    const wide = await make.key(superAdmin, { kind: "worker", definitions: [mine.definition] });
    const rest = await mine.claim({}, wide.key);
    expect(rest.map((job: { tenant_id: string }) => job.tenant_id).sort()).toEqual([acme.id, globex.id].sort());
  });

  test("local definitions are never returned to remote workers, whatever their keys contain", async () => {
    const { post } = await remote();
    const bad = await make.key(superAdmin, { kind: "worker", definitions: ["any"] });
    await enqueue({ definition_key: "any" });
    const answer = await post("jobs/claim", { worker: { name: "x" }, definitions: ["any"] }, bad.key);
    expect([answer.status, answer.body.jobs]).toEqual([200, []]);
  });

  test("R-1 another key cannot renew, end or write to a job it did not claim, even with the correct lease number", async () => {
    const { definition, claim, post } = await remote();
    const thief = await make.key(superAdmin, { kind: "worker", definitions: [definition] });
    const { id } = await enqueue({ definition_key: definition });
    const [job] = await claim();
    const before = await everything(id);
    for (const [verb, body] of [
      ["heartbeat", { logs: [{ seq: 0, message: "mine" }], progress: { percent: 1 } }],
      ["complete", { result: "mine" }],
      ["fail", { message: "mine" }],
    ] as const) {
      expectProblem(
        await post(`jobs/${id}/${verb}`, { lease_no: job.lease_no, ...body }, thief.key),
        409,
        "lease-lost",
      );
    }
    expect(await everything(id)).toEqual(before);
    const done = await post(`jobs/${id}/complete`, { lease_no: 1 });
    expect(done.status).toBe(200);
    expectProblem(await post(`jobs/${id}/complete`, { lease_no: 1 }, thief.key), 409, "lease-lost");
  });

  test("request bodies, results, texts and output are bounded", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    const huge = "x".repeat(1_100_000);
    expectProblem(await post(`jobs/${id}/complete`, { lease_no: 1, result: huge }), 413, "body-too-large");
    const lines = Array.from({ length: 201 }, (_, seq) => ({ seq, message: "x" }));
    expectProblem(await post(`jobs/${id}/heartbeat`, { lease_no: 1, logs: lines }), 422, "validation-failed");
    expectProblem(await post(`jobs/${id}/fail`, { lease_no: 1, message: "x".repeat(9000) }), 422, "validation-failed");
    for (const body of [{ limit: 51 }, { wait_seconds: 31 }, { lease_seconds: 4 }, { worker: { name: "a b" } }]) {
      const answer = await post("jobs/claim", { worker: { name: "x" }, definitions: [definition], ...body });
      expectProblem(answer, 422, "validation-failed");
    }
    const deep = `{"lease_no":1,"result":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    expect((await post(`jobs/${id}/complete`, deep)).status).toBeLessThan(500);
    expect((await jobOf(id)).status).toBe("succeeded");
  });

  test("a payload that no longer matches the schema is not returned; its job ends as a dead letter", async () => {
    const { definition, claim } = await remote({ definition: { arg_schema: { type: "object" } } });
    const { id } = await enqueue({ definition_key: definition });
    await database.query("update app.jobs set payload = '7' where id = $1", [id]);
    expect(await claim()).toEqual([]);
    expect(await jobOf(id)).toMatchObject({ status: "dead_letter", error_type: "validation" });
  });
});
