import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, make, acme, key, enqueue, get, expectProblem } = await queueFixture(database);
const LATER = "2126-01-01T00:00:00Z";

const post = (path: string, body: unknown = {}, as = key) => web.call("POST", `/api/v1/jobs${path}`, { key: as, body });
const patch = (id: string, body: unknown) => web.call("PATCH", `/api/v1/jobs/${id}`, { key, body });

test("a job is paused and resumed; in any other state the answer is 409 with the job's current status", async () => {
  const job = await enqueue();
  const paused = await post(`/${job.id}/pause`);
  expect([paused.status, paused.body.status, paused.body.wait_reason.code]).toEqual([200, "paused", "paused"]);
  expect(expectProblem(await post(`/${job.id}/pause`), 409, "state-conflict").current_status).toBe("paused");
  expect((await post(`/${job.id}/resume`)).body.status).toBe("queued");
  expect(expectProblem(await post(`/${job.id}/resume`), 409, "state-conflict").current_status).toBe("queued");
  await post(`/${job.id}/cancel`);
  for (const answer of [await post(`/${job.id}/pause`), await patch(job.id, { priority: 1 })])
    expect(expectProblem(answer, 409, "state-conflict").current_status).toBe("canceled");
});

test("the priority and the time of a waiting job can be changed together or separately", async () => {
  const job = await enqueue();
  const changed = await patch(job.id, { priority: 7, scheduled_for: LATER });
  expect(changed.body).toMatchObject({
    id: job.id,
    status: "queued",
    priority: 7,
    scheduled_for: "2126-01-01T00:00:00.000Z",
  });
  expect(changed.body.wait_reason.code).toBe("scheduled");
  expect((await patch(job.id, { scheduled_for: "2000-01-01T00:00:00Z" })).body).toMatchObject({
    priority: 7,
    scheduled_for: job.queued_at,
  });
  expect((await get(`/api/v1/jobs/${job.id}`)).body.priority).toBe(7);
});

test.each([
  [{}, ""],
  [{ priority: 0 }, "/priority"],
  [{ priority: "1" }, "/priority"],
  [{ scheduled_for: "tomorrow" }, "/scheduled_for"],
  [{ scheduled_for: "2026-01-01T00:00:00" }, "/scheduled_for"],
  [{ status: "paused" }, "/status"],
  [{ priority: 1, payload: {} }, "/payload"],
])("a change of %j is refused with a pointer", async (body, pointer) => {
  const job = await enqueue({ scheduled_for: LATER });
  const problem = expectProblem(await patch(job.id, body), 422, "validation-failed");
  expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
});

test("a scheduled time after the job's expiry is refused", async () => {
  const job = await enqueue({ expires_at: "2100-01-01T00:00:00Z" });
  const problem = expectProblem(await patch(job.id, { scheduled_for: LATER }), 422, "validation-failed");
  expect(problem.errors).toMatchObject([{ pointer: "/scheduled_for", code: "order" }]);
});

test("a read-only key cannot change a job", async () => {
  const reader = await make.user({ roles: { [acme.id]: "admin" } });
  const { key: readKey } = await make.key(reader, { tenantId: acme.id, scopes: ["jobs:read"] });
  const job = await enqueue({ scheduled_for: LATER });
  for (const verb of ["pause", "resume"])
    expectProblem(await post(`/${job.id}/${verb}`, {}, readKey), 403, "insufficient-scope");
  const answer = await web.call("PATCH", `/api/v1/jobs/${job.id}`, { key: readKey, body: { priority: 1 } });
  expectProblem(answer, 403, "insufficient-scope");
});
