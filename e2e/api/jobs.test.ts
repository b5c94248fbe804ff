import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";
import type { Answer } from "./web";

const CANARY = "canary-of-globex";
const database = await testDatabase();
const { web, acme, globex, key, foreignKey, superKey, enqueue, get, define, expectProblem } =
  await queueFixture(database);
const ABSENT = "01890000-0000-7000-8000-000000000000";
const foreign = await enqueue(
  { payload: { text: CANARY }, dedupe_key: CANARY, tags: [CANARY], correlation_id: CANARY },
  foreignKey,
);
const later = { scheduled_for: "2126-01-01T00:00:00Z" };

const BODIES = { GET: undefined, POST: {}, PATCH: { priority: 1 } };

const idsOf = (answer: Answer): string[] => answer.body.data.map((job: { id: string }) => job.id);
const post = (path: string, body: unknown = {}, as = key) => web.call("POST", path, { key: as, body });
const without = ({ request_id: _, instance: __, ...rest }: Record<string, unknown>) => rest;

test("API-08 foreign, absent and malformed ids get the same answer", async () => {
  for (const [method, path] of [
    ["GET", ""],
    ["GET", "/attempts"],
    ["GET", "/logs"],
    ["GET", "/steps"],
    ["POST", "/cancel"],
    ["POST", "/retry"],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["PATCH", ""],
  ] as const) {
    const ask = (id: string) => web.call(method, `/api/v1/jobs/${id}${path}`, { key, body: BODIES[method] });
    const [mine, absent] = [await ask(foreign.id), await ask(ABSENT)];
    expectProblem(mine, 404, "not-found");
    expect(without(mine.body)).toEqual(without(absent.body));
    expect([...mine.headers.keys()]).toEqual([...absent.headers.keys()]);
    for (const malformed of ["abc", "0", "null", `${ABSENT}x`, "%F0%9F%8E%89"])
      expectProblem(await ask(malformed), 400, "invalid-path");
  }
  const [row] = await database.query("select state from app.live_jobs where job_id = $1", [foreign.id]);
  expect(row?.state).toBe("queued");
});

test("B1 no answer contains a byte of another tenant", async () => {
  await enqueue();
  const paths = [
    "/api/v1/jobs",
    "/api/v1/jobs?limit=200",
    `/api/v1/jobs?q=${foreign.id}`,
    `/api/v1/jobs?correlation_id=${CANARY}`,
    `/api/v1/jobs?tag=${CANARY}`,
    "/api/v1/jobs/summary",
    "/api/v1/jobs/definitions",
    "/api/v1/assets",
    "/api/v1/me",
    `/api/v1/jobs/${foreign.id}`,
  ];
  for (const path of paths) {
    const { text } = await get(path);
    if (!path.includes(foreign.id)) expect(text, path).not.toContain(foreign.id);
    expect(text, path).not.toContain(globex.id);
    if (!path.includes(CANARY)) expect(text, path).not.toContain(CANARY);
  }
  expect((await get(`/api/v1/jobs?correlation_id=${CANARY}`)).body.data).toEqual([]);
});

test("TENANT-11 a dedupe key of another tenant is free, and a foreign parent is refused as unknown", async () => {
  expect((await enqueue({ dedupe_key: CANARY })).tenant_id).toBe(acme.id);
  const child = await post("/api/v1/jobs", { definition_key: "any", parent_job_id: foreign.id });
  const absent = await post("/api/v1/jobs", { definition_key: "any", parent_job_id: ABSENT });
  expectProblem(child, 422, "validation-failed");
  expect(without(child.body)).toEqual(without(absent.body));
});

test("a list row contains no payload, result or metadata", async () => {
  await enqueue({ payload: { big: "x".repeat(1000) }, metadata: { m: 1 } });
  const [row] = (await get("/api/v1/jobs?limit=1")).body.data;
  expect(Object.keys(row)).not.toEqual(expect.arrayContaining(["payload"]));
  expect("result" in row || "metadata" in row || "payload" in row).toBe(false);
});

test("each filter returns exactly its jobs", async () => {
  const job = await enqueue({ tags: ["blue"], correlation_id: "c-9", ...later });
  const found = async (query: string) => idsOf(await get(`/api/v1/jobs?limit=200&${query}`));
  const all = await found("");
  for (const query of ["tag=blue", "correlation_id=c-9", `q=${job.id}`])
    expect(await found(query), query).toEqual([job.id]);
  for (const query of [
    "status=queued,running",
    "status=queued&status=running",
    "source=manual",
    "queue=default",
    "definition_key=any",
    "q=an",
  ]) {
    expect(await found(query), query).toEqual(all);
  }
  for (const query of [
    "status=failed",
    "source=schedule",
    "queue=other",
    "definition_key=strict",
    "tag=red",
    "q=zzz",
    "created_before=2020-01-01T00:00:00Z",
  ]) {
    expect(await found(query), query).toEqual([]);
  }
  expect(await found(`created_after=${job.queued_at}`)).toContain(job.id);
  expect(await found("created_after=2026-01-01T00:00:00%2B02:00")).toEqual(all);
});

test.each([
  "limit=0",
  "limit=-1",
  "limit=1000000000",
  "limit=1.5",
  "limit=abc",
  "limit=NaN",
  "limit=",
  "limit=1&limit=2",
  "limit=1e2",
  "limit=%20 1",
  "offset=-1",
  "offset=10001",
  "status=done",
  "status=",
  "foo=1",
  "created_after=2026-03-29T02:30:00",
  "created_after=now",
  "cursor=x",
  "created_after=2026-03-29T02:30:00+01:00",
  "created_after=2026-02-30T00:00:00Z",
  "created_before=1e20",
  "source=api",
  "q=",
  `q=${"x".repeat(200)}`,
])("API-05 API-06 ?%s answers 400", async (query) => {
  for (const path of query.startsWith("status") ||
  query.startsWith("created") ||
  query.startsWith("source") ||
  query.startsWith("q=")
    ? ["/api/v1/jobs"]
    : ["/api/v1/jobs", "/api/v1/assets"]) {
    const answer = await get(`${path}?${query}`);
    expect(
      [answer.status, ["invalid-query", "invalid-cursor"].includes(answer.body.code)],
      `${path} ${answer.text}`,
    ).toEqual([400, true]);
  }
});

test("API-03 paging by cursor returns every existing job once while new ones arrive", async () => {
  const { key: own } = await pagingTenant();
  const made: string[] = [];
  for (let i = 0; i < 25; i += 1) made.push((await enqueue({}, own)).id);
  const seen: string[] = [];
  let path: string | undefined = "/api/v1/jobs?limit=4";
  while (path) {
    const page: Answer = await get(path, own);
    seen.push(...idsOf(page));
    const { next_cursor, has_more } = page.body.pagination;
    const link = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    expect([has_more, link !== undefined]).toEqual([next_cursor !== null, next_cursor !== null]);
    path = link && new URL(link).pathname + new URL(link).search;
    await enqueue({}, own);
  }
  expect(seen).toEqual([...made].reverse());
});

test("offset paging counts from the newest job, ends with an empty page, and cannot be combined with a cursor", async () => {
  const { key: own } = await pagingTenant();
  for (let i = 0; i < 5; i += 1) await enqueue({}, own);
  const page = (await get("/api/v1/jobs?limit=2&offset=2", own)).body;
  expect(page.pagination).toMatchObject({ limit: 2, offset: 2, total: 5, total_relation: "eq", has_more: true });
  expect((await get("/api/v1/jobs?offset=100", own)).body.data).toEqual([]);
  expectProblem(await get(`/api/v1/jobs?offset=1&cursor=${page.pagination.next_cursor}`, own), 400, "invalid-query");
});

test("a cursor of another filter or tenant, or a forged one, is refused", async () => {
  for (let i = 0; i < 3; i += 1) await enqueue();
  const cursor = (await get("/api/v1/jobs?limit=1")).body.pagination.next_cursor;
  expect((await get(`/api/v1/jobs?limit=2&cursor=${cursor}`)).status).toBe(200);
  expectProblem(await get(`/api/v1/jobs?status=queued&cursor=${cursor}`), 400, "invalid-cursor");
  expectProblem(await get(`/api/v1/jobs?cursor=${cursor}`, foreignKey), 400, "invalid-cursor");
  expectProblem(await get(`/api/v1/assets?cursor=${cursor}`), 400, "invalid-cursor");
  expectProblem(await get(`/api/v1/jobs?cursor=${cursor.slice(0, -2)}AA`), 400, "invalid-cursor");
});

test("cancel ends a waiting job at once and refuses a finished one; retry runs the same job again", async () => {
  const job = await enqueue(later);
  const canceled = await web.call("POST", `/api/v1/jobs/${job.id}/cancel`, { key });
  expect([canceled.status, canceled.body.status]).toEqual([200, "canceled"]);
  expectProblem(await post(`/api/v1/jobs/${job.id}/cancel`), 409, "state-conflict");
  const retried = await post(`/api/v1/jobs/${job.id}/retry`);
  expect([retried.status, retried.body.id, retried.body.status, retried.body.run_no]).toEqual([
    200,
    job.id,
    "queued",
    2,
  ]);
  expectProblem(await post(`/api/v1/jobs/${job.id}/retry`), 409, "state-conflict");
});

test("a retry with another payload creates a new job", async () => {
  const job = await enqueue({ payload: { a: 1 }, ...later });
  await post(`/api/v1/jobs/${job.id}/cancel`);
  const edited = await post(`/api/v1/jobs/${job.id}/retry`, { payload: { a: 2 } });
  expect([edited.status, edited.body.payload, edited.body.retried_from_id]).toEqual([201, { a: 2 }, job.id]);
  expect(edited.headers.get("location")).toBe(`/api/v1/jobs/${edited.body.id}`);
  expect((await get(`/api/v1/jobs/${job.id}`)).body.status).toBe("canceled");
  expectProblem(await post(`/api/v1/jobs/${job.id}/retry`, { payload: { s: "\u0000" } }), 422, "validation-failed");
  expectProblem(await post(`/api/v1/jobs/${job.id}/retry`, { status: "queued" }), 422, "validation-failed");
});

test("a job that never ran has no attempts and no logs", async () => {
  const job = await enqueue(later);
  expect((await get(`/api/v1/jobs/${job.id}/attempts`)).body).toMatchObject({ data: [] });
  expect((await get(`/api/v1/jobs/${job.id}/logs`)).body).toMatchObject({ data: [], next_after: null });
  for (const query of ["after=x", "after=1:", "attempt=0", "limit=1001", "stream=stdin", "x=1"]) {
    expectProblem(await get(`/api/v1/jobs/${job.id}/logs?${query}`), 400, "invalid-query");
  }
});

test("the summary counts only the tenant's own jobs", async () => {
  const { key: own } = await pagingTenant();
  await enqueue({}, own);
  await enqueue(later, own);
  const { body } = await get("/api/v1/jobs/summary", own);
  expect(body.counts).toMatchObject({ queued: 2, running: 0, succeeded: 0, dead_letter: 0 });
  expect(body.running_count).toBe(0);
  expect(body.oldest_queued_age_seconds).toBeGreaterThanOrEqual(0);
});

test("a tenant sees active definitions; a super admin manages definitions by version", async () => {
  const made = await define({
    key: "temporary",
    arg_schema: { type: "object", properties: { a: { type: "string" } } },
  });
  expect(made).toMatchObject({
    executor: "command",
    command_key: "temporary",
    queue: "default",
    version: 1,
    is_active: true,
  });
  const path = `/api/v1/admin/jobs/definitions/${made.id}`;
  const patch = (body: unknown) => web.call("PATCH", path, { key: superKey, body });
  expect((await patch({ max_attempts: 9 })).body).toMatchObject({
    max_attempts: 9,
    version: 2,
    timeout_seconds: made.timeout_seconds,
  });
  expect((await get("/api/v1/jobs/definitions")).body.data.map((one: { key: string }) => one.key)).toContain(
    "temporary",
  );
  expect((await patch({ is_active: false })).body.is_active).toBe(false);
  expect((await get("/api/v1/jobs/definitions")).body.data.map((one: { key: string }) => one.key)).not.toContain(
    "temporary",
  );
  expectProblem(await post("/api/v1/jobs", { definition_key: "temporary" }), 422, "definition-inactive");
  expectProblem(await patch({ key: "renamed" }), 422, "validation-failed");
  expectProblem(await post("/api/v1/admin/jobs/definitions", { key: "temporary" }, superKey), 409, "definition-exists");
  expectProblem(
    await web.call("PATCH", `/api/v1/admin/jobs/definitions/${ABSENT}`, { key: superKey, body: {} }),
    404,
    "not-found",
  );
});

test.each([
  [{ requierd: ["a"] }, "/arg_schema/requierd"],
  [{ properties: { a: { type: "string", format: "emial" } } }, "/arg_schema/properties/a/format"],
  [{ properties: { a: { type: "number", exclusiveMaximum: true } } }, "/arg_schema/properties/a/exclusiveMaximum"],
  [{ properties: { a: { type: "int" } } }, "/arg_schema/properties/a/type"],
  [{ properties: { a: { $ref: "https://evil.test/schema.json" } } }, undefined],
  [{ properties: { a: { type: "string", pattern: "(?=x)y" } } }, undefined],
])("PAYLOAD-16 saving an argument schema of %j is refused", async (arg_schema, pointer) => {
  const answer = await post(
    "/api/v1/admin/jobs/definitions",
    { key: "mistyped", arg_schema: { type: "object", ...arg_schema } },
    superKey,
  );
  const problem = expectProblem(answer, 422, "arg-schema-invalid");
  if (pointer) expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
});

let tenants = 0;
async function pagingTenant() {
  const { accountsIn } = await import("@/lib/testing/rows/accounts");
  const make = accountsIn(database);
  tenants += 1;
  const tenant = await make.tenant(`paging-${tenants}`);
  const user = await make.user({ roles: { [tenant.id]: "member" } });
  return make.key(user, { tenantId: tenant.id });
}
