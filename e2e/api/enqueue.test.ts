import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, acme, globex, admin, key, post, enqueue, get, jobCount, expectProblem, foreignKey } =
  await queueFixture(database);

const refused = async (body: unknown, status: number, code: string) => {
  const before = await jobCount();
  const problem = expectProblem(await post(body), status, code);
  expect(await jobCount()).toBe(before);
  return problem;
};
const pointers = (problem: { errors?: { pointer: string }[] }) => problem.errors?.map((error) => error.pointer);

test("a job is accepted with the response that the contract shows", async () => {
  const before = Date.now();
  const answer = await post({
    definition_key: "any",
    payload: { model: "siglip" },
    priority: 100,
    scheduled_for: "2126-02-16T10:30:00Z",
    dedupe_key: "tenant:bcg:training:daily",
    tags: ["a", "b"],
    metadata: { by: "test" },
    correlation_id: "c-1",
    max_attempts: 7,
    timeout_seconds: 60,
  });
  expect(answer.status).toBe(201);
  expect(answer.headers.get("location")).toBe(`/api/v1/jobs/${answer.body.id}`);
  expect(answer.body).toMatchObject({
    tenant_id: acme.id,
    status: "queued",
    definition_key: "any",
    payload: { model: "siglip" },
    priority: 100,
    queue: "default",
    scheduled_for: "2126-02-16T10:30:00.000Z",
    dedupe_key: "tenant:bcg:training:daily",
    tags: ["a", "b"],
    metadata: { by: "test" },
    correlation_id: "c-1",
    max_attempts: 7,
    timeout_seconds: 60,
    source: "manual",
    created_by: admin.id,
    attempt_count: 0,
    result: null,
  });
  expect(Date.parse(answer.body.queued_at)).toBeGreaterThan(before - 5000);
  expect((await get(`/api/v1/jobs/${answer.body.id}`)).body).toEqual(answer.body);
});

test("a second enqueue with a live dedupe key returns the first job", async () => {
  const first = await enqueue({ dedupe_key: "once" });
  const again = await post({ definition_key: "any", dedupe_key: "once" });
  expect([again.status, again.body.id, again.body.deduplicated]).toEqual([200, first.id, true]);
  const elsewhere = await enqueue({ dedupe_key: "once" }, foreignKey);
  expect(elsewhere.tenant_id).toBe(globex.id);
});

test.each([
  ["", 422],
  ["{", 400],
  ["[1,]", 400],
  ["nul", 400],
  ["[]", 422],
  ["null", 422],
  ['"x"', 422],
  ['{"definition_key":"any"} x', 400],
  ["{'definition_key':'any'}", 400],
])("a body of %j answers %i", async (body, status) => {
  const before = await jobCount();
  const answer = await web.call("POST", "/api/v1/jobs", { key, body, headers: { "content-type": "application/json" } });
  expect(answer.status).toBe(status);
  expect(await jobCount()).toBe(before);
});

test("a body that is not UTF-8 answers 400", async () => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(`${web.url}/api/v1/jobs`, {
    method: "POST",
    headers,
    body: Buffer.from('{"definition_key":"any","payload":"\xff"}', "latin1"),
  });
  expect([answer.status, (await answer.json()).code]).toEqual([400, "malformed-json"]);
});

test("PAYLOAD-01 NUL is refused with a pointer in values, keys, tags and dedupe keys", async () => {
  const where = async (body: object) => pointers(await refused(body, 422, "validation-failed"));
  expect(await where({ definition_key: "any", payload: { a: "x\u0000y" } })).toEqual(["/payload/a"]);
  expect(await where({ definition_key: "any", payload: { "a\u0000": [1] } })).toEqual(["/payload/a\ufffd"]);
  expect(await where({ definition_key: "any", payload: [[["\u0000"]]] })).toEqual(["/payload/0/0/0"]);
  expect(await where({ definition_key: "any", dedupe_key: "\u0000" })).toEqual(["/dedupe_key"]);
  expect(await where({ definition_key: "any", tags: ["\u0000"] })).toEqual(["/tags/0"]);
});

test("PAYLOAD-03 a lone surrogate is refused, a surrogate pair is kept", async () => {
  const problem = await refused('{"definition_key":"any","payload":{"s":"\\ud800"}}', 422, "validation-failed");
  expect(pointers(problem)).toEqual(["/payload/s"]);
  expect((await enqueue({ payload: { s: "🎉" } })).payload).toEqual({ s: "🎉" });
});

test("PAYLOAD-05 a number that would lose digits is refused, other numbers are kept", async () => {
  const sent =
    '{"definition_key":"any","payload":{"id":2481930577102938465,"n":9007199254740993,"e":1e400,"d":0.1,"z":-0}}';
  expect(pointers(await refused(sent, 422, "validation-failed"))).toEqual(["/payload/id", "/payload/n", "/payload/e"]);
  const job = await post('{"definition_key":"any","payload":{"n":9007199254740991,"d":0.1,"z":-0,"f":1.5e3}}');
  expect(job.body.payload).toEqual({ n: 9007199254740991, d: 0.1, z: 0, f: 1500 });
});

test.each([33, 10_000, 100_000])("PAYLOAD-08 a payload of %i nested arrays is refused", async (depth) => {
  const problem = await refused(
    `{"definition_key":"any","payload":${"[".repeat(depth)}${"]".repeat(depth)}}`,
    422,
    depth > 60 ? "validation-failed" : "payload-invalid",
  );
  expect(problem.errors[0].pointer).toMatch(/^\/payload(?:\/0)*$/);
});

test("PAYLOAD-08 a payload with too many values is refused", async () => {
  await refused({ definition_key: "any", payload: Array(10_001).fill(1) }, 422, "payload-invalid");
  await refused({ definition_key: "any", payload: Array(30_000).fill(1) }, 422, "validation-failed");
});

test("PAYLOAD-10 the size limit counts UTF-8 bytes: a payload at the limit is accepted, one more byte answers 413", async () => {
  const cap = 256 * 1024;
  const of = (bytes: number) => "€".repeat(Math.floor((bytes - 2) / 3)) + "x".repeat((bytes - 2) % 3);
  for (const bytes of [cap - 1, cap]) expect((await enqueue({ payload: of(bytes) })).payload).toBe(of(bytes));
  await refused({ definition_key: "any", payload: of(cap + 1) }, 413, "payload-too-large");
});

test("PAYLOAD-11 a duplicate key is refused, not resolved", async () => {
  const problem = await refused(
    '{"definition_key":"any","payload":{"cmd":"safe","cmd":"rm"}}',
    422,
    "validation-failed",
  );
  expect(problem.errors).toMatchObject([{ pointer: "/payload/cmd", code: "duplicate-key" }]);
  await refused('{"definition_key":"any","payload":{"a":1,"\\u0061":2}}', 422, "validation-failed");
});

test("PAYLOAD-13 a payload that violates the definition's schema is refused without coercion", async () => {
  const uuid = "01890000-0000-7000-8000-000000000000";
  const where = async (payload: unknown) =>
    pointers(await refused({ definition_key: "strict", payload }, 422, "payload-invalid"));
  expect(await where({})).toEqual(["/payload/provider_id"]);
  expect(await where({ provider_id: "x" })).toEqual(["/payload/provider_id"]);
  expect(await where({ provider_id: uuid, path_prefix: 10 })).toEqual(["/payload/path_prefix"]);
  expect(await where({ provider_id: uuid, extra: 1 })).toEqual(["/payload/extra"]);
  expect(
    (await enqueue({ definition_key: "strict", payload: { provider_id: uuid, path_prefix: "10" } })).payload,
  ).toEqual({ provider_id: uuid, path_prefix: "10" });
});

const VALUES: { value: unknown }[] = ["10.5", "true", "null", '{"a":1}', [], 0, false, null, { v: "0.1" }, {}].map(
  (value) => ({ value }),
);

test.each(VALUES)("PAYLOAD-18 a payload of $value keeps its type on write and on read", async ({ value }) => {
  const job = await enqueue({ payload: value });
  const sql = "select payload = $2::jsonb as same from app.jobs where id = $1";
  const [row] = await database.query(sql, [job.id, JSON.stringify(value)]);
  expect(row?.same).toBe(true);
  expect((await get(`/api/v1/jobs/${job.id}`)).body.payload).toEqual(value);
});

test("a key named __proto__ is kept as a key", async () => {
  const answer = await post('{"definition_key":"any","payload":{"__proto__":{"admin":true}}}');
  expect(answer.text).toContain('"payload":{"__proto__":{"admin":true}}');
  await refused('{"definition_key":"any","__proto__":{"priority":1}}', 422, "validation-failed");
});

test("B4 TENANT-11 naming a column in the body does not write it", async () => {
  for (const name of [
    "id",
    "tenant_id",
    "status",
    "state",
    "command_key",
    "lease_no",
    "created_by",
    "source",
    "run_no",
    "lane_no",
    "role",
    "queued_at",
  ]) {
    expect(pointers(await refused({ definition_key: "any", [name]: globex.id }, 422, "validation-failed"))).toEqual([
      `/${name}`,
    ]);
  }
});

test.each([
  "2026-03-29T02:30:00",
  "2026-02-30T00:00:00Z",
  "1e20",
  "now",
  "10000-01-01T00:00:00Z",
  "2026-03-29",
  "",
  "2026-03-29T02:30:00 01:00",
])("API-06 scheduled_for %j is refused", async (scheduled_for) => {
  expect(pointers(await refused({ definition_key: "any", scheduled_for }, 422, "validation-failed"))).toEqual([
    "/scheduled_for",
  ]);
});

test("a past scheduled_for means now: the job overtakes no other job and moves none to the front", async () => {
  const before = Date.now() - 60_000;
  const past = { scheduled_for: "1970-01-01T00:00:00Z" };
  const job = (await post({ definition_key: "any", ...past, dedupe_key: "past" })).body;
  expect(Date.parse(job.scheduled_for)).toBeGreaterThan(before);
  const again = { definition_key: "any", ...past, dedupe_key: "past", dedupe: { on_conflict: "reschedule" } };
  const moved = (await post(again)).body;
  expect([moved.id, moved.conflict]).toEqual([job.id, "rescheduled"]);
  expect(Date.parse(moved.scheduled_for)).toBeGreaterThan(before);
});

test("API-06 a time with a zone comes back as the same instant in UTC", async () => {
  expect((await enqueue({ scheduled_for: "2126-03-29T02:30:00+01:00" })).scheduled_for).toBe(
    "2126-03-29T01:30:00.000Z",
  );
});

test.each([
  [{ priority: 0 }, "/priority"],
  [{ priority: 1001 }, "/priority"],
  [{ priority: 1.5 }, "/priority"],
  [{ priority: "5" }, "/priority"],
  [{ tags: ["x".repeat(65)] }, "/tags/0"],
  [{ tags: Array(21).fill("x") }, "/tags"],
  [{ metadata: [] }, "/metadata"],
  [{ dedupe_key: "" }, "/dedupe_key"],
  [{ dedupe_key: "x".repeat(513) }, "/dedupe_key"],
  [{ max_attempts: 0 }, "/max_attempts"],
  [{ timeout_seconds: 0 }, "/timeout_seconds"],
  [{ dedupe: { mode: "live" } }, "/dedupe"],
  [{ parent_job_id: "x" }, "/parent_job_id"],
  [{ dedupe_key: "k", dedupe: { mode: "window" } }, "/dedupe/window_seconds"],
  [{ definition_key: "../x" }, "/definition_key"],
])("%j is refused with a pointer", async (fields, pointer) => {
  expect(pointers(await refused({ definition_key: "any", ...fields }, 422, "validation-failed"))).toEqual([pointer]);
});

test("unknown definitions and queues are refused", async () => {
  await refused({ definition_key: "nothing" }, 422, "definition-unknown");
  await refused({ definition_key: "ANY" }, 422, "validation-failed");
  await refused({ definition_key: "any", queue: "nowhere" }, 422, "queue-unknown");
});

test("the server logged no error of its own during these requests", () => {
  expect(web.log()).not.toMatch(/"level":"(error|fatal)"/);
});
