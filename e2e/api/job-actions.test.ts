import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { queueFixture } from "./queue-fixture";
import type { Answer } from "./web";

const database = await testDatabase();
const { web, make, acme, key, foreignKey, enqueue, get, expectProblem } = await queueFixture(database);
await startProcess("scheduler", { database });
const ABSENT = "01890000-0000-7000-8000-000000000000";
const ACTIONS = "/api/v1/jobs/actions";

const act = (body: unknown, as = key, headers: Record<string, string> = {}) =>
  web.call("POST", ACTIONS, { key: as, body, headers });
const jobs = async (count: number, tag: string) => {
  const made: string[] = [];
  for (let n = 0; n < count; n += 1) made.push((await enqueue({ tags: [tag] })).id);
  return made;
};
const over = (id: string) =>
  waitFor(
    async () => {
      const { body } = await get(`${ACTIONS}/${id}`);
      return body.finished_at === null ? null : body;
    },
    { withinMs: 30_000, what: "the end of the action" },
  );

test("a dry run counts and samples the jobs, the action changes them, and its results list each job", async () => {
  const made = await jobs(3, "a");
  const body = { action: "pause", filter: { tag: "a" } };
  const dry = await act({ ...body, dry_run: true });
  expect([dry.status, dry.body.count, dry.body.count_relation]).toEqual([200, 3, "eq"]);
  expect(dry.body.samples.map((job: { id: string }) => job.id)).toEqual([...made].reverse());
  const accepted = await act(body);
  expect(accepted.status).toBe(202);
  expect(accepted.headers.get("location")).toBe(`${ACTIONS}/${accepted.body.id}`);
  expect(accepted.body).toMatchObject({ action: "pause", total: 3, total_relation: "eq" });
  expect(await over(accepted.body.id)).toMatchObject({
    status: "done",
    done: 3,
    skipped: 0,
    failed: 0,
    filter: { tag: "a", status: ["queued"] },
    created_by: { kind: "api_key", email: expect.stringContaining("@") },
  });
  expect((await get(`/api/v1/jobs/${made[0]}`)).body.status).toBe("paused");
  const results = (await get(`${ACTIONS}/${accepted.body.id}/jobs?limit=2`)).body;
  expect(results.data).toEqual(
    made
      .slice(1)
      .reverse()
      .map((id) => ({ job_id: id, result: "done", code: null })),
  );
  const rest = (await get(`${ACTIONS}/${accepted.body.id}/jobs?after=${results.next_after}`)).body;
  expect(rest).toEqual({ data: [{ job_id: made[0], result: "done", code: null }], next_after: null });
  expect((await get(`${ACTIONS}?limit=1`)).body.data[0].id).toBe(accepted.body.id);
});

test("an action by ids reports skipped and failed jobs separately, and treats a foreign id like an absent one", async () => {
  const [waits = ""] = await jobs(1, "b");
  const foreign = await enqueue({}, foreignKey);
  const { body } = await act({ action: "retry", ids: [waits, foreign.id, ABSENT] });
  expect(await over(body.id)).toMatchObject({ total: 3, done: 0, skipped: 3, failed: 0, filter: null });
  const skipped = (await get(`${ACTIONS}/${body.id}/jobs?result=skipped`)).body.data;
  expect(Object.fromEntries(skipped.map((one: { job_id: string; code: string }) => [one.job_id, one.code]))).toEqual({
    [waits]: "state-conflict",
    [foreign.id]: "not-found",
    [ABSENT]: "not-found",
  });
  expect((await get(`${ACTIONS}/${body.id}/jobs?result=failed`)).body.data).toEqual([]);
});

test("API-01 the same Idempotency-Key accepts one action", async () => {
  const body = { action: "set_priority", priority: 5, filter: { tag: "none-has-it" } };
  const first = await act(body, key, { "idempotency-key": "action-1" });
  const second = await act(body, key, { "idempotency-key": "action-1" });
  expect([first.status, second.status, second.text]).toEqual([202, 202, first.text]);
});

test("a finished action cannot be aborted", async () => {
  const { body } = await act({ action: "cancel", filter: { tag: "none-has-it" } });
  await over(body.id);
  expectProblem(await web.call("POST", `${ACTIONS}/${body.id}/abort`, { key, body: {} }), 409, "action-over");
});

test("API-08 another tenant cannot read, abort or list an action", async () => {
  const { body } = await act({ action: "cancel", filter: { tag: "none-has-it" } });
  const foreign = [
    await get(`${ACTIONS}/${body.id}`, foreignKey),
    await get(`${ACTIONS}/${body.id}/jobs`, foreignKey),
    await web.call("POST", `${ACTIONS}/${body.id}/abort`, { key: foreignKey, body: {} }),
  ];
  for (const answer of foreign) expectProblem(answer, 404, "not-found");
  const listed: Answer = await get(ACTIONS, foreignKey);
  expect(listed.body.data).toEqual([]);
  expect(listed.text).not.toContain(acme.id);
});

test.each([
  [{ action: "explode", ids: [ABSENT] }, "/action"],
  [{ action: "cancel" }, "/ids"],
  [{ action: "cancel", ids: [ABSENT], filter: {} }, "/ids"],
  [{ action: "cancel", ids: [] }, "/ids"],
  [{ action: "cancel", ids: ["x"] }, "/ids/0"],
  [{ action: "cancel", filter: { colour: "blue" } }, "/filter/colour"],
  [{ action: "cancel", filter: { status: ["odd"] } }, "/filter/status/0"],
  [{ action: "set_priority", ids: [ABSENT] }, "/priority"],
  [{ action: "cancel", ids: [ABSENT], priority: 3 }, "/priority"],
  [{ action: "reschedule", ids: [ABSENT] }, "/scheduled_for"],
])("an action of %j is refused with a pointer", async (body, pointer) => {
  for (const dry_run of [true, false]) {
    const problem = expectProblem(await act({ ...body, dry_run }), 422, "validation-failed");
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
  }
});

test("a read-only key can read actions and cannot start or abort one", async () => {
  const reader = await make.user({ roles: { [acme.id]: "viewer" } });
  const { key: readKey } = await make.key(reader, { tenantId: acme.id, scopes: ["jobs:read", "jobs:write"] });
  const { body } = await act({ action: "cancel", filter: { tag: "none-has-it" } });
  expectProblem(await act({ action: "cancel", filter: {}, dry_run: true }, readKey), 403, "forbidden");
  expectProblem(await web.call("POST", `${ACTIONS}/${body.id}/abort`, { key: readKey, body: {} }), 403, "forbidden");
  expect((await get(`${ACTIONS}/${body.id}`, readKey)).status).toBe(200);
});
