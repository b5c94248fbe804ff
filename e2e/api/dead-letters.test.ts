import { afterAll, expect, test } from "vitest";
import { settleAttempts } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { dead } from "@/lib/testing/rows/attempt-ends";
import { makeFactory } from "@/lib/testing/rows/factories";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, key, foreignKey, enqueue, get, expectProblem, make, acme } = await queueFixture(database);
const factory = makeFactory(database);
afterAll(() => factory.close());
await startProcess("scheduler", { database });
const LETTERS = "/api/v1/jobs/dead-letters";
const ABSENT = "01890000-0000-7000-8000-000000000000";

const patch = (id: string, body: unknown, as = key) => web.call("PATCH", `${LETTERS}/${id}`, { key: as, body });
const redrive = (body: unknown, as = key) => web.call("POST", `${LETTERS}/redrive`, { key: as, body });

async function failedJobs(count: number, body: Record<string, unknown> = {}): Promise<string[]> {
  const ids = new Set<string>();
  for (let n = 0; n < count; n += 1) ids.add((await enqueue(body)).id);
  const claimed = (await factory.claim("w")).filter((job) => ids.has(job.jobId));
  await settleAttempts(
    factory.worker,
    claimed.map((job) => dead(job)),
  );
  return claimed
    .map((job) => job.jobId)
    .sort()
    .reverse();
}

test("a dead letter is listed, triaged and returned with its history; foreign and absent ones answer alike", async () => {
  const [id = ""] = await failedJobs(1);
  const [row] = (await get(`${LETTERS}?status=pending`)).body.data;
  expect(row).toMatchObject({ id, status: "pending", note: "", changed_by: null, job: { id, status: "dead_letter" } });
  const changed = await patch(id, { status: "investigating", note: "looking" });
  expect(changed.body).toMatchObject({ id, status: "investigating", note: "looking" });
  expect(changed.body.history[0]).toMatchObject({
    action: "triage",
    from_status: "pending",
    note: "looking",
    actor_kind: "api_key",
  });
  expect((await get(`${LETTERS}/${id}`)).body).toEqual(changed.body);
  expect((await get(`${LETTERS}?status=pending`)).body.data).toEqual([]);
  expect((await get(`${LETTERS}?status=investigating,resolved&definition_key=any`)).body.pagination.total).toBe(1);
  expectProblem(await get(`${LETTERS}/${id}`, foreignKey), 404, "not-found");
  expectProblem(await patch(id, { status: "resolved" }, foreignKey), 404, "not-found");
  expectProblem(await patch(ABSENT, { status: "resolved" }), 404, "not-found");
  for (const body of [{}, { status: "odd" }, { note: "x".repeat(2001) }, { state: "resolved" }])
    expectProblem(await patch(id, body), 422, "validation-failed");
  expectProblem(await get(`${LETTERS}?status=odd`), 400, "invalid-query");
});

test("redrive supports a dry run, a definition filter, and another payload for one dead letter", async () => {
  const ids = await failedJobs(2);
  const dry = await redrive({ ids, dry_run: true });
  expect([dry.status, dry.body.count]).toEqual([200, 2]);
  const [edited = "", plain = ""] = ids;
  const made = await redrive({ ids: [edited], payload: { b: 1 } });
  expect([made.status, made.body.retried_from_id, made.body.payload]).toEqual([201, edited, { b: 1 }]);
  expect((await get(`${LETTERS}/${edited}`)).body).toMatchObject({ status: "resolved", retried_by_id: made.body.id });
  const [resolved] = (await get(`${LETTERS}?status=resolved`)).body.data;
  expect(resolved).toMatchObject({ id: edited, retried_by_id: made.body.id });
  expect((await get(`/api/v1/jobs/${edited}`)).body.retried_by_id).toBe(made.body.id);
  expect(made.body.retried_by_id).toBeNull();
  const retries = await get(`/api/v1/jobs?retried_from_id=${edited}`);
  expect(retries.body.data.map((job: { id: string }) => job.id)).toEqual([made.body.id]);
  expect((await get(`/api/v1/jobs?retried_from_id=${edited}`, foreignKey)).body.data).toEqual([]);
  expectProblem(await get("/api/v1/jobs?retried_from_id=mine"), 400, "invalid-query");
  // Resolved dead letters are redriven only if the request names that status. Otherwise the edited job would run twice.
  expect((await redrive({ definition_key: "any", status: ["resolved"], dry_run: true })).body.count).toBeGreaterThan(0);
  const action = await redrive({ definition_key: "any" });
  expect([action.status, action.body.action]).toEqual([202, "redrive"]);
  await waitFor(async () => (await get(`/api/v1/jobs/${plain}`)).body.run_no === 2, { withinMs: 30_000 });
  expect((await get(`/api/v1/jobs/${edited}`)).body.status).toBe("dead_letter");
});

test.each([
  [{}, "/ids"],
  [{ ids: [ABSENT], all: true }, "/ids"],
  [{ all: false }, "/all"],
  [{ all: true, payload: {} }, "/payload"],
  [{ ids: [ABSENT], payload: {}, dry_run: true }, "/dry_run"],
])("a redrive of %j is refused with a pointer", async (body, pointer) => {
  const problem = expectProblem(await redrive(body), 422, "validation-failed");
  expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
});

test("a viewer can read dead letters and cannot change them", async () => {
  const [id = ""] = await failedJobs(1);
  const viewer = await make.user({ roles: { [acme.id]: "viewer" } });
  const cookie = await web.login(viewer);
  const as = { cookie, tenant: "acme" };
  expect((await web.call("GET", `${LETTERS}/${id}`, as)).status).toBe(200);
  expectProblem(await web.call("PATCH", `${LETTERS}/${id}`, { ...as, body: { status: "ignored" } }), 403, "forbidden");
  expectProblem(await web.call("POST", `${LETTERS}/redrive`, { ...as, body: { all: true } }), 403, "forbidden");
});
