import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

const database = await testDatabase();
const { web, acme, superKey, superAdmin, key: tenantKey, define, expectProblem } = await queueFixture(database);
await define({ key: "far", executor: "remote" });
await define({ key: "away", executor: "remote" });

const KEYS = "/api/v1/admin/worker-keys";
const cookie = await web.login(superAdmin);
const make = (body: Record<string, unknown>, headers = {}) =>
  web.call("POST", KEYS, { cookie, body: { name: "one", definitions: ["far"], ...body }, headers });
const claim = (key: string, body: Record<string, unknown> = {}) =>
  web.call("POST", "/api/v1/worker/jobs/claim", {
    key,
    body: { worker: { name: "w" }, definitions: ["far"], ...body },
  });

test("K-2 K-4 a worker key is shown once, stored as a hash, limited to its scope, and valid for 90 days", async () => {
  const made = await make({ definitions: ["far", "away"], queues: ["default"], tenant: "acme" });
  expect(made.status, made.text).toBe(201);
  const { key, id } = made.body;
  expect(made.body).toMatchObject({ definitions: ["away", "far"], queues: ["default"], tenant_id: acme.id });
  expect(key).toMatch(/^lhk_live_/);
  expect(Date.parse(made.body.expires_at) - Date.parse(made.body.created_at)).toBe(90 * 86_400_000);
  const list = await web.call("GET", KEYS, { key: superKey });
  expect(list.body.data.find((one: { id: string }) => one.id === id)).toMatchObject({ tenant_slug: "acme" });
  const stored = await database.query("select k::text as row, kind, created_by from app.api_keys k where id = $1", [
    id,
  ]);
  expect(stored[0]).toMatchObject({ kind: "worker", created_by: superAdmin.id });
  for (const text of [list.text, stored[0]?.row, web.log()]) expect(text).not.toContain(key.slice(22));
  expect((await claim(key)).status).toBe(200);
});

test("K-4 an idempotent replay returns no key, and none is stored for it", async () => {
  const headers = { "idempotency-key": "make-a-key" };
  const first = await make({ name: "twice" }, headers);
  const again = await make({ name: "twice" }, headers);
  expect([first.status, again.status, again.headers.get("idempotency-replayed")]).toEqual([201, 201, "true"]);
  expect(again.body).toEqual({ ...first.body, key: null });
  const rows = await database.query("select k::text as row from app.idempotency_keys k");
  expect(rows.map(({ row }) => row).join()).not.toContain(first.body.key.slice(22));
});

test("a scope with unknown names or without remote definitions is refused", async () => {
  expectProblem(await make({ definitions: ["far", "any"] }), 422, "definition-unknown");
  expectProblem(await make({ definitions: ["nothing"] }), 422, "definition-unknown");
  expectProblem(await make({ queues: ["no-such-queue"] }), 422, "queue-unknown");
  expectProblem(await make({ tenant: "nowhere" }), 422, "validation-failed");
  expectProblem(await make({ definitions: [] }), 422, "validation-failed");
  expectProblem(await make({ expires_in_days: 366 }), 422, "validation-failed");
  const problem = expectProblem(await make({ definitions: ["far", "any"] }), 422, "definition-unknown");
  expect(problem.errors[0].pointer).toBe("/definitions/1");
});

test("K-5 a revoked key, an expired key and a key of a demoted creator are refused from the next request", async () => {
  const { key, id } = (await make({ name: "short" })).body;
  expect((await claim(key)).status).toBe(200);
  const gone = await web.call("DELETE", `${KEYS}/${id}`, { key: superKey });
  expect([gone.status, gone.body.revoked_at !== null]).toEqual([200, true]);
  expectProblem(await claim(key), 401, "unauthenticated");
  const again = await web.call("DELETE", `${KEYS}/${id}`, { key: superKey });
  expect(again.body.revoked_at).toBe(gone.body.revoked_at);
  expectProblem(await web.call("DELETE", `${KEYS}/${acme.id}`, { key: superKey }), 404, "not-found");

  const late = (await make({ name: "late" })).body;
  await database.query("update app.api_keys set expires_at = now() where id = $1", [late.id]);
  expectProblem(await claim(late.key), 401, "unauthenticated");

  const orphan = (await make({ name: "orphan" })).body;
  await database.query("update app.users set is_super_admin = false where id = $1", [superAdmin.id]);
  expectProblem(await claim(orphan.key), 403, "forbidden");
  await database.query("update app.users set is_super_admin = true where id = $1", [superAdmin.id]);
  expect((await claim(orphan.key)).status).toBe(200);
});

test("creating and revoking a key are audited without the key", async () => {
  const { key, id } = (await make({ name: "audited", tenant: "acme" })).body;
  await web.call("DELETE", `${KEYS}/${id}`, { key: superKey });
  const rows = await database.query(
    "select action, tenant_id, detail, a::text as row from app.security_audit a where object_id = $1 order by id",
    [id],
  );
  expect(rows.map(({ action, tenant_id }) => [action, tenant_id])).toEqual([
    ["worker_key.created", acme.id],
    ["worker_key.revoked", acme.id],
  ]);
  expect(rows[0]?.detail).toMatchObject({ name: "audited", definitions: ["far"] });
  expect(rows.map(({ row }) => row).join()).not.toContain(key.slice(22));
});

test("only a signed-in super admin can create a worker key, so no API key creates one that outlives it", async () => {
  const before = await database.query("select count(*) from app.api_keys where kind = 'worker'");
  const body = { name: "long", definitions: ["far"], expires_in_days: 365 };
  expectProblem(await web.call("POST", KEYS, { key: superKey, body }), 403, "session-required");
  expect(await database.query("select count(*) from app.api_keys where kind = 'worker'")).toEqual(before);
});

test("a tenant's key cannot create, list or revoke worker keys", async () => {
  const { id } = (await make({ tenant: "acme" })).body;
  expectProblem(await web.call("POST", KEYS, { key: tenantKey, body: {} }), 403, "forbidden");
  expectProblem(await web.call("GET", KEYS, { key: tenantKey }), 403, "forbidden");
  expectProblem(await web.call("DELETE", `${KEYS}/${id}`, { key: tenantKey }), 403, "forbidden");
});

test("a definition cannot switch between remote and local", async () => {
  const far = (await web.call("GET", "/api/v1/admin/jobs/definitions", { key: superKey })).body.data.find(
    (one: { key: string }) => one.key === "far",
  );
  const change = await web.call("PATCH", `/api/v1/admin/jobs/definitions/${far.id}`, {
    key: superKey,
    body: { executor: "handler" },
  });
  expect(expectProblem(change, 422, "validation-failed").errors[0].pointer).toBe("/executor");
});
