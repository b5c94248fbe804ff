import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { remoteFixture } from "./remote-fixture";

const database = await testDatabase();
const { web, acme, key, superKey, enqueue, get, expectProblem, remote, jobOf, attemptsOf } =
  await remoteFixture(database);

describe("Z-16 claim, heartbeat, complete, fail", () => {
  test("a claimed job contains everything its worker needs", async () => {
    const { definition, claim } = await remote();
    const made = await enqueue({ definition_key: definition, payload: { n: 1 }, correlation_id: "c-1" });
    const [job, ...others] = await claim();
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      job_id: made.id,
      lease_no: 1,
      tenant_id: acme.id,
      definition_key: definition,
      payload: { n: 1 },
      attempt: 1,
      max_attempts: 2,
      idempotency_key: `${made.id}:1`,
      correlation_id: "c-1",
      timeout_seconds: 3600,
      lease_seconds: 20,
    });
    expect(Date.parse(job.lease_expires_at) - Date.parse(job.claimed_at)).toBe(20_000);
    expect(await claim()).toEqual([]);
    expect(await jobOf(made.id)).toMatchObject({
      status: "running",
      claimed_by_worker: expect.stringMatching(/:one$/),
    });
  });

  test("a worker can request a lease shorter than the definition's, never longer, also when renewing", async () => {
    const { definition, claim, post } = await remote();
    for (const [asked, given] of [
      [5, 5],
      [3600, 20],
    ]) {
      await enqueue({ definition_key: definition });
      const [job] = await claim({ lease_seconds: asked });
      expect(job.lease_seconds).toBe(given);
      const { body } = await post(`jobs/${job.job_id}/heartbeat`, { lease_no: 1, lease_seconds: asked });
      const left = Date.parse(body.lease_expires_at) - Date.now();
      expect(left).toBeGreaterThan(((given ?? 0) - 5) * 1000);
      expect(left).toBeLessThan(((given ?? 0) + 5) * 1000);
    }
  });

  test("heartbeats store progress and output, once for each sequence number, with secrets masked", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const logs = [
      { seq: 0, message: "begun" },
      { seq: 1, level: "warn", message: `token ${secret} \u001b[2Jseen\u0000` },
    ];
    for (const extra of [[], [{ seq: 2, message: "more" }]]) {
      const beat = await post(`jobs/${id}/heartbeat`, {
        lease_no: 1,
        progress: { percent: 41.6, message: "almost" },
        logs: [...logs, ...extra],
      });
      expect([beat.status, beat.body.cancel_requested, beat.body.dropped_lines], beat.text).toEqual([200, false, 0]);
    }
    expect((await jobOf(id)).progress).toEqual({ percent: 42, message: "almost" });
    const lines = (await get(`/api/v1/jobs/${id}/logs`)).body.data;
    expect(lines.map((line: { level: string; body: string }) => [line.level, line.body])).toEqual([
      ["info", "begun"],
      ["warn", expect.stringContaining("seen\ufffd")],
      ["info", "more"],
    ]);
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(JSON.stringify(lines)).not.toContain("[2J");
  });

  test("complete stores the result; repeating it returns the same answer and changes nothing", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    const done = () => post(`jobs/${id}/complete`, { lease_no: 1, result: { words: 3, big: "x\u0000y" } });
    const first = await done();
    expect(first.body).toEqual({ job_id: id, lease_no: 1, status: "succeeded", outcome: "succeeded", retry_at: null });
    expect(await jobOf(id)).toMatchObject({ status: "succeeded", result: { words: 3, big: "x\ufffdy" } });
    const again = await done();
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await attemptsOf(id)).toHaveLength(1);
    expectProblem(await post(`jobs/${id}/fail`, { lease_no: 1, message: "no" }), 409, "lease-lost");
  });

  test("complete keeps the digits of a number that a double cannot represent, and logs so once", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    const text =
      '{"lease_no":1,"result":{"id":1152921504606846976,"ratio":0.1000000000000000055511151231257827,"n":1E5}}';
    for (const status of [200, 200]) expect((await post(`jobs/${id}/complete`, text)).status).toBe(status);
    expect((await jobOf(id)).result).toEqual({
      id: "1152921504606846976",
      ratio: "0.1000000000000000055511151231257827",
      n: 100_000,
    });
    const lines = (await get(`/api/v1/jobs/${id}/logs`)).body.data;
    expect(lines.map((line: { body: string }) => line.body)).toEqual([expect.stringContaining("kept as texts")]);
  });

  test.each([
    ["complete", `"result":"${"\\u0000".repeat(40_000)}"`, 200],
    ["complete", '"result":{"\\ud800":"\\udc00","a":1,"a":2,"__proto__":{"x":1}}', 200],
    ["complete", `"result":${"[".repeat(100_000)}${"]".repeat(100_000)}`, 200],
    ["complete", `"result":[${"1,".repeat(200_000)}-1e999]`, 200],
    ["complete", `"result":"${"x".repeat(1_100_000)}"`, 413],
    ["fail", '"message":"\\u0000\\ud800","retry_after_seconds":1e-300', 200],
    ["fail", '"message":"x","retry_after_seconds":1e308', 422],
    ["fail", '"outcome":"snoozed","snooze_seconds":5e-324', 200],
    ["fail", '"outcome":"snoozed","snooze_seconds":9007199254740993', 422],
    ["fail", '"message":NaN', 400],
  ])(
    "%s with a hostile body (%#) is stored or refused, and the attempt can still be ended",
    async (verb, fields, status) => {
      const { definition, claim, post } = await remote();
      const { id } = await enqueue({ definition_key: definition });
      await claim();
      const first = await post(`jobs/${id}/${verb}`, `{"lease_no":1,${fields}}`);
      expect(first.status, first.text).toBe(status);
      const end = { lease_no: 1, error_class: "internal", retryable: false, message: "no" };
      if (status !== 200) expect((await post(`jobs/${id}/fail`, end)).body.outcome).toBe("dead_letter");
      else expect(await attemptsOf(id)).toHaveLength(1);
    },
  );

  test("after fail the job follows its definition: delay, next attempt, dead letter", async () => {
    const { definition, claim, post } = await remote({
      definition: { retry: { strategy: "fixed", delay_seconds: 0 } },
    });
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    const secret = "postgres://me:hunter2secret@db/x";
    const first = await post(`jobs/${id}/fail`, {
      lease_no: 1,
      error_class: "internal",
      message: `no: ${secret}\u0000`,
    });
    expect(first.body).toMatchObject({ status: "failed", outcome: null });
    expect((await post(`jobs/${id}/fail`, { lease_no: 1, message: "no" })).body).toEqual(first.body);
    const [again] = await claim({ wait_seconds: 10 });
    expect([again.lease_no, again.attempt]).toEqual([2, 2]);
    const second = await post(`jobs/${id}/fail`, { lease_no: 2, error_class: "unknown", message: "no" });
    expect(second.body).toMatchObject({ status: "failed", outcome: "dead_letter" });
    const old = (await attemptsOf(id)).find((one: { attempt_no: number }) => one.attempt_no === 1);
    expect([old.error_type, old.error_text.includes("\ufffd"), old.error_text.includes("hunter2secret")]).toEqual([
      "internal",
      true,
      false,
    ]);
    expect((await jobOf(id)).status).toBe("dead_letter");
  });

  test("a permanent error class ends the job at once; Retry-After and snooze delay the next attempt", async () => {
    const { definition, claim, post } = await remote();
    const ids = [];
    for (let n = 0; n < 4; n += 1) ids.push((await enqueue({ definition_key: definition })).id);
    await claim();
    const [invalid, limited, later, back] = ids;
    const fail = async (id: string, body: object) => (await post(`jobs/${id}/fail`, { lease_no: 1, ...body })).body;
    expect(await fail(invalid, { error_class: "validation", message: "no" })).toMatchObject({ outcome: "dead_letter" });
    const asked = await fail(limited, { error_class: "rate_limit", message: "slow", retry_after_seconds: 900 });
    expect(Date.parse(asked.retry_at) - Date.now()).toBeGreaterThan(600_000);
    const snoozed = await fail(later, { outcome: "snoozed", snooze_seconds: 600 });
    expect([snoozed.status, snoozed.outcome]).toEqual(["snoozed", null]);
    expect((await jobOf(later)).attempt_count).toBe(0);
    expect((await fail(back, { outcome: "released" })).status).toBe("released");
    const [job] = await claim();
    expect([job.job_id, job.lease_no, job.attempt]).toEqual([back, 2, 1]);
  });

  test("a queue's retry delay applies to remote attempts too", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    const pause = "update app.job_queues set retry_delay_seconds = $1, retry_multiplier = 1 where name = 'default'";
    await database.query(pause, [3000]);
    await claim();
    const { body } = await post(`jobs/${id}/fail`, { lease_no: 1, error_class: "unknown", message: "no" });
    expect(Date.parse(body.retry_at) - Date.now()).toBeGreaterThan(600_000);
    await database.query("update app.job_queues set retry_delay_seconds = null, retry_multiplier = null");
  });

  test("heartbeats and claims return a cancel request; a worker cannot report a cancel that was not requested", async () => {
    const { definition, claim, post } = await remote();
    const { id } = await enqueue({ definition_key: definition });
    await claim();
    expectProblem(await post(`jobs/${id}/fail`, { lease_no: 1, outcome: "canceled" }), 409, "state-conflict");
    const waiting = post("jobs/claim", { worker: { name: "one" }, definitions: [definition], wait_seconds: 20 });
    await setTimeout(300);
    await web.call("POST", `/api/v1/jobs/${id}/cancel`, { key, body: {} });
    expect((await waiting).body).toEqual({ jobs: [], cancel_requested: [{ job_id: id, lease_no: 1 }] });
    expect((await post(`jobs/${id}/heartbeat`, { lease_no: 1 })).body.cancel_requested).toBe(true);
    expect((await post(`jobs/${id}/fail`, { lease_no: 1, outcome: "canceled" })).body).toMatchObject({
      status: "canceled",
      outcome: "canceled",
    });
    expect((await jobOf(id)).status).toBe("canceled");
  });
});

test("remote workers appear in the list of workers and can sign off", async () => {
  const { definition, claim, post } = await remote();
  await claim({ worker: { name: "shown", hostname: "elsewhere", pid: 7, version: "9", label: "py", capacity: 3 } });
  const find = async () =>
    (await get("/api/v1/admin/workers", superKey)).body.data.find((one: { worker_id: string }) =>
      one.worker_id.endsWith(":shown"),
    );
  expect(await find()).toMatchObject({
    hostname: "elsewhere",
    pid: 7,
    label: "py",
    capacity: 3,
    definitions: [definition],
    isolation: "remote",
    status: "live",
  });
  for (const state of ["draining", "stopped"]) {
    expect((await post("state", { worker: { name: "shown" }, state })).status).toBe(200);
    expect((await find()).status).toBe(state);
  }
});
