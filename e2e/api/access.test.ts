import { expect, test } from "vitest";
import { ROUTES, type RouteAccess } from "@/lib/api/routes";
import { generateApiKey } from "@/lib/auth/api-key";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const acme = await make.tenant("acme");
const globex = await make.tenant("globex");
const admin = await make.user({ roles: { [acme.id]: "admin" } });
const viewer = await make.user({ roles: { [acme.id]: "viewer" } });
const both = await make.user({ roles: { [acme.id]: "member", [globex.id]: "viewer" } });
const superAdmin = await make.user({ superAdmin: true });
const stranger = await make.user({ roles: { [globex.id]: "admin" } });
const web = await startWeb(database);

const JOB = "01890000-0000-7000-8000-000000000000";
const routes = Object.entries(ROUTES).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { access }]) => ({ path: path.replace(/\[\w+\]/g, JOB), method, access })),
);
const guarded = routes.filter(({ access }) => access !== "open");
const workerRoutes = guarded.filter(({ access }) => access === "worker");
const isTenant = (access: RouteAccess) => /^(?:jobs|triggers|events|webhooks|definitions|assets):/.test(access);
const tenantRoutes = guarded.filter(({ access }) => isTenant(access));
const platformRoutes = guarded.filter(({ access }) => access.startsWith("platform:"));
/** What a viewer may do. The endpoints and messages of webhooks are not visible to every member. */
const isRead = (access: RouteAccess) => access.endsWith(":read") && access !== "webhooks:read";

test("B1 only public routes answer a caller without credentials", async () => {
  const strangers: Record<string, string>[] = [
    {},
    { authorization: `Bearer ${generateApiKey().key}` },
    { cookie: "leasehold.session=x" },
  ];
  for (const { method, path } of guarded) {
    for (const headers of strangers) {
      const answer = await web.call(method, path, { headers });
      expectProblem(answer, 401, "unauthenticated");
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  }
});

test("B1 a viewer can read and cannot change anything; members of no tenant or of another one get 404", async () => {
  const cookie = await web.login(viewer);
  const foreign = await web.login(stranger);
  for (const { method, path, access } of tenantRoutes) {
    const answer = await web.call(path.endsWith("/stream") ? "HEAD" : method, path, { cookie, tenant: "acme" });
    if (!isRead(access)) expectProblem(answer, 403, "forbidden");
    else expect(method === "POST" ? [422] : [200, 404], `${method} ${path}`).toContain(answer.status);
    expectProblem(await web.call(method, path, { cookie: foreign, tenant: "acme" }), 404, "not-found");
  }
});

test("B1 platform routes are for super admins; a tenant's admin or key gets nothing", async () => {
  const cookie = await web.login(admin);
  const { key } = await make.key(superAdmin, {
    tenantId: acme.id,
    scopes: ["jobs:read", "platform:read", "platform:write"],
  });
  const { key: worker } = await make.key(superAdmin, {
    kind: "worker",
    scopes: ["platform:read", "platform:write", "jobs:read"],
  });
  for (const { method, path } of platformRoutes) {
    expectProblem(await web.call(method, path, { cookie }), 403, "forbidden");
    expectProblem(await web.call(method, path, { key }), 403, "forbidden");
    expectProblem(await web.call(method, path, { key: worker }), 403, "forbidden");
  }
});

test("B1 K-5 a worker key opens the worker routes only, and no other credential opens them", async () => {
  const { key } = await make.key(superAdmin, { kind: "worker", scopes: ["jobs:read", "jobs:write", "platform:write"] });
  const { key: ofTenant } = await make.key(superAdmin, { kind: "worker", tenantId: acme.id });
  for (const { method, path, access } of guarded.filter((route) => !workerRoutes.includes(route))) {
    for (const one of [key, ofTenant]) {
      const answer = await web.call(method, path, { key: one, tenant: "acme" });
      expect([answer.status, answer.body?.code], `${method} ${path} (${access})`).toEqual([403, "forbidden"]);
    }
  }
  const { key: superKey } = await make.key(superAdmin, { kind: "super_admin", scopes: ["platform:write"] });
  const { key: tenantKey } = await make.key(admin, { tenantId: acme.id });
  const { key: ofNoSuperAdmin } = await make.key(admin, { kind: "worker" });
  const callers = [
    { cookie: await web.login(superAdmin) },
    { key: superKey },
    { key: tenantKey },
    { key: ofNoSuperAdmin },
  ];
  expect(workerRoutes.length).toBeGreaterThanOrEqual(5);
  for (const { method, path } of workerRoutes) {
    for (const caller of callers)
      expectProblem(await web.call(method, path, { ...caller, body: {} }), 403, "forbidden");
    // An upload's body is the file. Its attempt and name are in the query.
    const [status, code] = method === "PUT" ? ([400, "invalid-query"] as const) : ([422, "validation-failed"] as const);
    expectProblem(await web.call(method, path, { key, body: {} }), status, code);
  }
});

test("B1 K-5 a key allows what both its scopes and its creator's role allow", async () => {
  const { key: readOnly } = await make.key(admin, { tenantId: acme.id, scopes: ["jobs:read"] });
  const { key: ofViewer } = await make.key(viewer, { tenantId: acme.id });
  const { key: ofStranger } = await make.key(stranger, { tenantId: acme.id });
  for (const { method, path, access } of tenantRoutes) {
    if (!isRead(access)) {
      expectProblem(await web.call(method, path, { key: readOnly }), 403, "insufficient-scope");
      expectProblem(await web.call(method, path, { key: ofViewer }), 403, "forbidden");
    }
    expectProblem(await web.call(method, path, { key: ofStranger }), 404, "not-found");
  }
  expectProblem(await web.call("GET", "/api/v1/assets", { key: readOnly }), 403, "insufficient-scope");
  const { key: platformRead } = await make.key(superAdmin, { kind: "super_admin", scopes: ["platform:read"] });
  expect((await web.call("GET", "/api/v1/admin/workers", { key: platformRead })).status).toBe(200);
  expectProblem(
    await web.call("POST", "/api/v1/admin/providers", { key: platformRead, body: {} }),
    403,
    "insufficient-scope",
  );
});

test("TENANT-13 each request names its tenant; the server does not remember it", async () => {
  const cookie = await web.login(both);
  expectProblem(await web.call("GET", "/api/v1/assets", { cookie }), 400, "tenant-required");
  for (const tenant of [acme.id, "acme", acme.id.toUpperCase()]) {
    expect((await web.call("GET", "/api/v1/assets", { cookie, tenant })).status).toBe(200);
  }
  expect((await web.call("GET", "/api/v1/assets", { cookie, tenant: "globex" })).status).toBe(200);
  expectProblem(await web.call("POST", "/api/v1/jobs", { cookie, tenant: "globex", body: {} }), 403, "forbidden");
  expectProblem(await web.call("GET", "/api/v1/assets", { cookie, tenant: "acme, globex" }), 404, "not-found");
});

test("TENANT-13 a key that names another tenant gets 404", async () => {
  const { key } = await make.key(both, { tenantId: acme.id });
  expect((await web.call("GET", "/api/v1/assets", { key, tenant: "acme" })).status).toBe(200);
  expectProblem(await web.call("GET", "/api/v1/assets", { key, tenant: "globex" }), 404, "not-found");
});

test("API-08 a foreign tenant answers exactly like an absent one", async () => {
  const cookie = await web.login(admin);
  const ask = async (tenant: string) => {
    const { status, body, headers } = await web.call("GET", "/api/v1/assets", { cookie, tenant });
    const { request_id: _, ...rest } = body;
    return [status, rest, [...headers.keys()]];
  };
  const foreign = await ask("globex");
  expect(foreign).toEqual(await ask("nowhere"));
  expect(foreign).toEqual(await ask(globex.id));
  expect(foreign).toEqual(await ask(JOB));
});

test("a super admin must name the tenant, and access to it is audited", async () => {
  const cookie = await web.login(superAdmin);
  expectProblem(await web.call("GET", "/api/v1/assets", { cookie }), 400, "tenant-required");
  expect((await web.call("GET", "/api/v1/assets", { cookie, tenant: "acme" })).status).toBe(200);
  expectProblem(await web.call("GET", "/api/v1/assets", { cookie, tenant: "nowhere" }), 404, "not-found");
  const rows = await database.query(
    "select tenant_id, actor_id, success from app.security_audit where action = 'super_admin.enter_tenant'",
  );
  expect(rows).toContainEqual({ tenant_id: acme.id, actor_id: superAdmin.id, success: true });
  const me = await web.call("GET", "/api/v1/me", { cookie });
  expect(me.body.tenants.map((tenant: { slug: string; role: string }) => [tenant.slug, tenant.role])).toEqual([
    ["acme", "super_admin"],
    ["globex", "super_admin"],
  ]);
});

test("TENANT-01 demoting, removing, disabling or deleting a member takes effect with the next request", async () => {
  const person = await make.user({ roles: { [acme.id]: "admin" } });
  const cookie = await web.login(person);
  const { key } = await make.key(person, { tenantId: acme.id });
  const post = (who: { cookie: string } | { key: string }) =>
    web.call("POST", "/api/v1/jobs", { ...who, tenant: "acme", body: {} });
  expectProblem(await post({ cookie }), 422, "validation-failed");
  await database.query("update app.memberships set role = 'viewer' where user_id = $1", [person.id]);
  for (const who of [{ cookie }, { key }]) expectProblem(await post(who), 403, "forbidden");
  await database.query("delete from app.memberships where user_id = $1", [person.id]);
  for (const who of [{ cookie }, { key }]) expectProblem(await post(who), 404, "not-found");
  await database.query("update app.users set disabled_at = now() where id = $1", [person.id]);
  for (const who of [{ cookie }, { key }]) expectProblem(await post(who), 401, "unauthenticated");
  await database.query("delete from app.users where id = $1", [person.id]);
  for (const who of [{ cookie }, { key }]) expectProblem(await post(who), 401, "unauthenticated");
});

test("SE-3 a session and a key together are refused", async () => {
  const cookie = await web.login(admin);
  const { key } = await make.key(admin, { tenantId: acme.id });
  expectProblem(await web.call("GET", "/api/v1/me", { cookie, key }), 400, "ambiguous-credentials");
});

test("K-8 TENANT-16 a key in the URL is refused, audited and not written anywhere", async () => {
  const { key } = await make.key(admin, { tenantId: acme.id });
  for (const query of [
    `api_key=${key}`,
    `q=${key}`,
    `access_token=x`,
    `q=${encodeURIComponent(key).replaceAll("_", "%5F")}`,
  ]) {
    expectProblem(await web.call("GET", `/api/v1/assets?${query}`), 400, "credentials-in-url");
  }
  const wrong = generateApiKey().key;
  const answer = await web.call("GET", "/api/v1/me", { key: wrong });
  const audit = await database.query("select a::text as text from app.security_audit a");
  const everything = [answer.text, web.log(), ...audit.map((row) => row.text)].join("\n");
  expect(everything).not.toContain(key.slice(22));
  expect(everything).not.toContain(wrong.slice(22));
  expect(audit.filter((row) => row.text.includes("api_key.in_url")).length).toBe(1);
});

test("TENANT-16 an altered, upper-case or revoked key does not authenticate", async () => {
  const made = await make.key(admin, { tenantId: acme.id });
  expect((await web.call("GET", "/api/v1/me", { key: made.key })).status).toBe(200);
  for (const key of [`${made.key}x`, made.key.toUpperCase(), made.key.slice(0, -1), `x ${made.key}`]) {
    expectProblem(await web.call("GET", "/api/v1/me", { key }), 401, "unauthenticated");
  }
  await database.query("update app.api_keys set revoked_at = now() where id = $1", [made.id]);
  expectProblem(await web.call("GET", "/api/v1/me", { key: made.key }), 401, "unauthenticated");
});

test("CS-1 B10 TENANT-18 a change made with a cookie must come from the application's own pages; others are refused and audited", async () => {
  const cookie = await web.login(admin);
  const post = (headers: Record<string, string>) =>
    fetch(`${web.url}/api/v1/jobs`, {
      method: "POST",
      body: "{}",
      headers: { cookie, "x-tenant-id": "acme", "content-type": "application/json", ...headers },
    });
  for (const headers of [
    {},
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "null" },
    { origin: "http://evil.test" },
  ]) {
    expect((await post(headers as Record<string, string>)).status).toBe(403);
  }
  expect((await post({ "sec-fetch-site": "same-origin" })).status).toBe(422);
  expect((await post({ origin: web.url })).status).toBe(422);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]) {
    expect((await post({ "sec-fetch-site": "same-origin", "content-type": type })).status).toBe(415);
  }
  const denials = await database.query(
    "select 1 from app.security_audit where action = 'access.denied' and reason = 'cross-site-request'",
  );
  expect(denials).toHaveLength(1);
});
