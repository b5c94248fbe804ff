import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, acme, key, foreignKey, enqueue, get, post, jobCount, expectProblem } = await queueFixture(database);
const bulk = (jobs: unknown, headers: Record<string, string> = {}, as = key) =>
  web.call("POST", "/api/v1/jobs/bulk", { key: as, body: { jobs }, headers });
const any = (more: Record<string, unknown> = {}) => ({ definition_key: "any", ...more });

const refused = async (answer: Awaited<ReturnType<typeof bulk>>, errors: readonly (readonly [string, string])[]) => {
  const problem = expectProblem(answer, 422, "validation-failed");
  expect(problem.errors?.map((error: { pointer: string; code: string }) => [error.pointer, error.code])).toEqual(
    errors,
  );
};

test("A-04 a workflow is accepted in one call, with its jobs in any order", async () => {
  const answer = await bulk([
    any({ ref: "end", depends_on: [{ ref: "left" }, { ref: "right", type: "completion" }] }),
    any({ ref: "left", depends_on: [{ ref: "start" }] }),
    any({ ref: "right", depends_on: [{ ref: "start" }], on_parent_failure: "run", tags: ["r"] }),
    any({ ref: "start" }),
  ]);
  expect(answer.status).toBe(201);
  expect(answer.body.data).toMatchObject([
    { ref: "end", status: "blocked", tenant_id: acme.id, definition_key: "any", deduplicated: false },
    { ref: "left", status: "blocked" },
    { ref: "right", status: "blocked" },
    { ref: "start", status: "queued" },
  ]);
  const [end, left, right, start] = answer.body.data.map((job: { id: string }) => job.id);
  expect((await get(`/api/v1/jobs/${end}`)).body).toMatchObject({
    status: "blocked",
    wait_reason: { code: "blocked", detail: expect.stringContaining(left) },
  });
  const found = (await get(`/api/v1/jobs/${right}/dependencies`)).body;
  expect(found).toEqual({
    parents: [
      {
        job_id: start,
        edge_no: 1,
        definition_key: "any",
        status: "queued",
        type: "success",
        condition: null,
        as: "start",
        state: "pending",
        on_parent_failure: "run",
      },
    ],
    children: [expect.objectContaining({ job_id: end, status: "blocked", type: "completion" })],
    has_more_children: false,
  });
  await web.call("POST", `/api/v1/jobs/${start}/cancel`, { key });
  const states = await Promise.all([end, left, right].map(async (id) => (await get(`/api/v1/jobs/${id}`)).body));
  expect(states).toMatchObject([
    { status: "canceled", error_type: "parent_failed" },
    { status: "canceled", last_error: expect.stringContaining(start) },
    { status: "queued", tags: ["r"] },
  ]);
});

test("A-04 a single job can depend on existing jobs; a foreign parent answers like an absent one", async () => {
  const parent = await enqueue();
  const waiting = await post(any({ depends_on: [{ job_id: parent.id }] }));
  expect([waiting.status, waiting.body.status]).toEqual([201, "blocked"]);
  for (const id of [parent.id, "00000000-0000-7000-8000-000000000000"]) {
    const answer = await web.call("POST", "/api/v1/jobs", {
      key: foreignKey,
      body: any({ depends_on: [{ job_id: id }] }),
    });
    await refused(answer, [["/depends_on/0/job_id", "job-unknown"]]);
  }
  expectProblem(await get(`/api/v1/jobs/${parent.id}/dependencies`, foreignKey), 404, "not-found");
  await refused(await post(any({ depends_on: [{ ref: "x" }] })), [["/depends_on/0/ref", "ref-unknown"]]);
});

test("A-04 a bulk request is stored completely or not at all, with a pointer to each error", async () => {
  const before = await jobCount();
  await refused(await bulk([any({ ref: "a" }), any({ ref: "b", depends_on: [{ ref: "a" }, { ref: "c" }] })]), [
    ["/jobs/1/depends_on/1/ref", "ref-unknown"],
  ]);
  await refused(
    await bulk([any({ ref: "a", depends_on: [{ ref: "b" }] }), any({ ref: "b", depends_on: [{ ref: "a" }] })]),
    [["/jobs/0/depends_on/0/ref", "cycle"]],
  );
  await refused(await bulk([any({ parent_job_id: acme.id })]), [["/jobs/0/parent_job_id", "job-unknown"]]);
  const strict = await bulk([any(), { definition_key: "strict", payload: {} }]);
  expect(expectProblem(strict, 422, "payload-invalid").errors?.[0]?.pointer).toMatch(/^\/jobs\/1\/payload/);
  expect(
    expectProblem(await bulk([{ definition_key: "nothing" }]), 422, "definition-unknown").errors?.[0]?.pointer,
  ).toBe("/jobs/0/definition_key");
  expectProblem(await bulk([]), 422, "validation-failed");
  expectProblem(await bulk(Array.from({ length: 1001 }, () => any())), 422, "validation-failed");
  expect(await jobCount()).toBe(before);
});

test("A-04 one call takes 1,000 jobs with 25 values each, and the same Idempotency-Key stores them once", async () => {
  const before = await jobCount();
  const payload = { list: Array.from({ length: 22 }, (_value, index) => index) };
  const jobs = Array.from({ length: 1000 }, (_job, index) =>
    any({ ref: `n${index}`, payload, ...(index === 0 ? {} : { depends_on: [{ ref: `n${index - 1}` }] }) }),
  );
  const headers = { "idempotency-key": "workflow-1" };
  const [first, again] = [await bulk(jobs, headers), await bulk(jobs, headers)];
  expect([first.status, first.body.data.length]).toEqual([201, 1000]);
  expect(again.body).toEqual(first.body);
  expect((await jobCount()) - before).toBe(1000);
});

test("A-04 a bulk request whose jobs all exist already answers 200 with them", async () => {
  const held = await enqueue({ dedupe_key: "held" });
  const answer = await bulk([any({ dedupe_key: "held" })]);
  expect([answer.status, answer.body.data[0]]).toEqual([
    200,
    expect.objectContaining({ id: held.id, deduplicated: true }),
  ]);
});
