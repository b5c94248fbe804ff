import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";
import { expectProblem } from "./web";

const database = await testDatabase();
const { web, key, superKey, enqueue } = await queueFixture(database);
const get = (path: string) => web.call("GET", path, { key });

test("G-03 the steps of a job are listed without results that are too large to show", async () => {
  const job = await enqueue();
  expect((await get(`/api/v1/jobs/${job.id}/steps`)).body).toEqual({ data: [], next_after: null });
  await database.query(
    `insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result, created_at)
     values ($1, 1, 'charge', $2, 1, '{"paid": true}', '2026-01-01T00:00:00Z'),
            ($1, 1, 'report', $2, 2, to_jsonb(repeat('x', 20000)), '2026-01-01T00:00:01Z')`,
    [job.id, job.tenant_id],
  );
  const answer = await get(`/api/v1/jobs/${job.id}/steps`);
  expect([answer.status, answer.body.data]).toEqual([
    200,
    [
      {
        name: "charge",
        run_no: 1,
        attempt_no: 1,
        created_at: "2026-01-01T00:00:00.000Z",
        result: { paid: true },
        result_bytes: 14,
        result_omitted: false,
      },
      expect.objectContaining({ name: "report", result: null, result_bytes: 20_002, result_omitted: true }),
    ],
  ]);
});

test("G-04 the children of a job can be listed by their parent", async () => {
  const parent = await enqueue();
  const child = await enqueue({ parent_job_id: parent.id });
  const found = await get(`/api/v1/jobs?parent_job_id=${parent.id}`);
  expect(found.body.data.map(({ id }: { id: string }) => id)).toEqual([child.id]);
  expectProblem(await get("/api/v1/jobs?parent_job_id=mine"), 400, "invalid-query");
});

test("A-07 a definition sets the retry policy for each error class", async () => {
  const define = (body: object) => web.call("POST", "/api/v1/admin/jobs/definitions", { key: superKey, body });
  const retry_classes = { not_found: { retryable: true, delay_seconds: 5 }, timeout: { timeout_multiplier: 2 } };
  const made = await define({ key: "classes", retry: { strategy: "fixed", delay_seconds: 3 }, retry_classes });
  expect([made.status, made.body.retry_classes, made.body.retry]).toEqual([
    201,
    retry_classes,
    { strategy: "fixed", delay_seconds: 3, multiplier: null, max_delay_seconds: null, jitter: null },
  ]);
  const path = `/api/v1/admin/jobs/definitions/${made.body.id}`;
  const body = { retry: { delay_seconds: null }, retry_classes: {} };
  const changed = await web.call("PATCH", path, { key: superKey, body });
  expect([changed.body.version, changed.body.retry_classes, changed.body.retry.delay_seconds]).toEqual([2, {}, null]);
  for (const [wrong, pointer] of [
    [{ worker_lost: {} }, "/retry_classes/worker_lost"],
    [{ unknown: { timeout_multiplier: 2 } }, "/retry_classes/unknown/timeout_multiplier"],
    [{ unknown: { max_attempts: 0 } }, "/retry_classes/unknown/max_attempts"],
  ] as const) {
    const refused = await define({ key: "wrong", retry_classes: wrong });
    expectProblem(refused, 422, "validation-failed");
    expect(refused.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
  }
});
