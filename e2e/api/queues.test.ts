import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { listen } from "@/lib/db";
import { CHANNELS } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { accountsIn } from "@/lib/testing/rows/accounts";
import { expectProblem, startWeb } from "./web";

const database = await testDatabase();
const make = accountsIn(database);
const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
const superAdmin = await make.user({ superAdmin: true });
const { key: superKey } = await make.key(superAdmin, {
  kind: "super_admin",
  scopes: ["platform:read", "platform:write"],
});
const member = await make.user({ roles: { [acme.id]: "member", [globex.id]: "viewer" } });
const [{ key }, { key: otherKey }] = [
  await make.key(member, { tenantId: acme.id }),
  await make.key(member, { tenantId: globex.id }),
];
const web = await startWeb(database);
const admin = (method: string, path: string, body?: unknown) =>
  web.call(method, `/api/v1/admin/${path}`, { key: superKey, body });
const audited = (action: string) =>
  database.query("select object_id from app.security_audit where action = $1 order by id", [action]);

describe("queues", () => {
  test("are created and changed by a super admin, each with an audit row", async () => {
    const made = await admin("POST", "queues", { name: "imports", timeout_seconds: 60 });
    expect([made.status, made.body]).toMatchObject([
      201,
      { name: "imports", default_priority: 100, timeout_seconds: 60, max_attempts: null, weight: 1, pause: null },
    ]);
    const path = made.headers.get("location")?.replace("/api/v1/admin/", "") ?? "";
    const changed = await admin("PATCH", path, { weight: 3, timeout_seconds: null, max_attempts: 5 });
    expect([changed.status, changed.body]).toMatchObject([200, { weight: 3, timeout_seconds: null, max_attempts: 5 }]);
    const listed = (await admin("GET", "queues")).body.data.find(({ name }: { name: string }) => name === "imports");
    expect(listed).toEqual(changed.body);
    expect(await audited("queue.created")).toEqual([{ object_id: String(made.body.id) }]);
    expect(await audited("queue.changed")).toEqual([{ object_id: String(made.body.id) }]);
    expectProblem(await admin("POST", "queues", { name: "imports" }), 409, "queue-exists");
  });

  test.each([
    ["POST", { name: "No!" }, 422],
    ["POST", { name: "x", weight: 0 }, 422],
    ["PATCH /1", { name: "other" }, 422],
    ["PATCH /999999", { weight: 2 }, 404],
    ["PATCH /one", { weight: 2 }, 400],
  ])("%s with %j is refused", async (what, body, status) => {
    const [method = "", id = ""] = what.split(" ");
    expect((await admin(method, `queues${id}`, body)).status).toBe(status);
  });
});

describe("a pause", () => {
  afterEach(async () => {
    for (const { id } of (await admin("GET", "pause")).body.data) await admin("DELETE", `pause/${id}`);
  });

  test("notifies workers to release the jobs they claimed ahead", async () => {
    const heard: string[] = [];
    await new Promise<void>((onReady, onError) => {
      const listener = listen({
        url: database.urlFor("worker"),
        channels: [CHANNELS.pauses],
        applicationName: "a worker's listener",
        onNotify: (channel) => heard.push(channel),
        onReady,
        onError,
      });
      onTestFinished(() => listener.close());
    });
    await admin("POST", "pause", { scope: "all", reason: "x" });
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual([CHANNELS.pauses]);
  });

  test("is shown as the wait reason with its cause, and is ended manually", async () => {
    const body = { scope: "queue", queue: "billing-sync", reason: "provider is down", until: "2999-01-01T00:00:00Z" };
    const set = await admin("POST", "pause", body);
    expect([set.status, set.body]).toMatchObject([
      201,
      { scope: "queue", queue: "billing-sync", reason: "provider is down", until: "2999-01-01T00:00:00.000Z" },
    ]);
    const seen = await web.call("GET", "/api/v1/jobs/queues", { key });
    const held = seen.body.data.filter(({ pause }: { pause: unknown }) => pause !== null);
    expect(held).toMatchObject([{ name: "billing-sync", pause: { scope: "queue", reason: "provider is down" } }]);
    expect((await admin("DELETE", `pause/${set.body.id}`)).body).toEqual(set.body);
    expect((await admin("GET", "pause")).body.data).toEqual([]);
    expectProblem(await admin("DELETE", `pause/${set.body.id}`), 404, "not-found");
    expect(await audited("pause.set")).toContainEqual({ object_id: set.body.id });
    expect(await audited("pause.ended")).toContainEqual({ object_id: set.body.id });
  });

  test("of a tenant is shown to that tenant only", async () => {
    await admin("POST", "pause", { scope: "tenant", tenant: "globex", reason: "unpaid" });
    const reasons = async (mine: string) => {
      const { body } = await web.call("GET", "/api/v1/jobs/queues", { key: mine });
      return new Set(body.data.map(({ pause }: { pause: { reason: string } | null }) => pause?.reason));
    };
    expect(await reasons(key)).toEqual(new Set([undefined]));
    expect(await reasons(otherKey)).toEqual(new Set(["unpaid"]));
  });

  test.each([
    [{ scope: "queue", reason: "x" }, "/queue"],
    [{ scope: "all", reason: " " }, "/reason"],
    [{ scope: "all", reason: "x", queue: "default" }, "/queue"],
    [{ scope: "tenant", tenant: "no-such-tenant", reason: "x" }, "/tenant"],
    [{ scope: "all", reason: "x", until: "2020-01-01T00:00:00Z" }, "/until"],
  ])("of %j is refused with a pointer", async (body, pointer) => {
    const problem = expectProblem(await admin("POST", "pause", body), 422, "validation-failed");
    expect(problem.errors[0].pointer).toBe(pointer);
  });
});

describe("a limit", () => {
  test("is created, changed and deleted, each with an audit row", async () => {
    const made = await admin("POST", "limits", {
      scope: "tenant_queue",
      queue: "default",
      tenant: "acme",
      max_running: 2,
    });
    expect([made.status, made.body]).toMatchObject([
      201,
      { scope: "tenant_queue", queue: "default", tenant: "acme", max_running: 2, starts_per_second: null, burst: null },
    ]);
    const path = `limits/${made.body.id}`;
    const changed = await admin("PATCH", path, { max_running: null, starts_per_second: 2.5 });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { max_running: null, starts_per_second: 2.5, burst: 3 },
    ]);
    expect((await admin("GET", "limits")).body.data).toEqual([changed.body]);
    expect((await admin("DELETE", path)).body).toEqual(changed.body);
    expectProblem(await admin("DELETE", path), 404, "not-found");
    for (const action of ["limit.created", "limit.changed", "limit.deleted"])
      expect(await audited(action)).toEqual([{ object_id: String(made.body.id) }]);
  });

  test("exists once for each target", async () => {
    const body = { scope: "queue", queue: "default", max_running: 0 };
    const { body: made } = await admin("POST", "limits", body);
    expectProblem(await admin("POST", "limits", body), 409, "limit-exists");
    await admin("DELETE", `limits/${made.id}`);
  });

  test.each([
    [{ scope: "queue", queue: "default" }, "/max_running"],
    [{ scope: "queue", queue: "default", tenant: "acme", max_running: 1 }, "/tenant"],
    [{ scope: "definition", definition_key: "nothing", max_running: 1 }, "/definition_key"],
    [{ scope: "queue", queue: "default", max_running: -1 }, "/max_running"],
    [{ scope: "queue", queue: "default", starts_per_second: 0 }, "/starts_per_second"],
  ])("of %j is refused with a pointer", async (body, pointer) => {
    const problem = expectProblem(await admin("POST", "limits", body), 422, "validation-failed");
    expect(problem.errors[0].pointer).toBe(pointer);
  });
});

test("a super admin changes a tenant's weight, with an audit row", async () => {
  const changed = await admin("PATCH", `tenants/${acme.id}`, { weight: 2.5 });
  expect([changed.status, changed.body]).toMatchObject([200, { id: acme.id, slug: "acme", weight: 2.5 }]);
  const { body } = await admin("GET", "tenants");
  expect(body.data.map(({ slug, weight }: { slug: string; weight: number }) => [slug, weight])).toEqual([
    ["acme", 2.5],
    ["globex", 1],
  ]);
  expect(await audited("tenant.changed")).toEqual([{ object_id: acme.id }]);
  expectProblem(await admin("PATCH", `tenants/${superAdmin.id}`, { weight: 1 }), 404, "not-found");
  expectProblem(await admin("PATCH", `tenants/${acme.id}`, { weight: 0 }), 422, "validation-failed");
});

test.each([
  ["GET", "queues"],
  ["POST", "queues"],
  ["GET", "pause"],
  ["POST", "pause"],
  ["GET", "limits"],
  ["POST", "limits"],
  ["GET", "tenants"],
  ["PATCH", `tenants/${acme.id}`],
])("a tenant's key cannot %s /admin/%s", async (method, path) => {
  const body = method === "GET" ? undefined : {};
  expectProblem(await web.call(method, `/api/v1/admin/${path}`, { key, body }), 403, "forbidden");
});
